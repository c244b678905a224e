// The admin API: requests with the token, and the stream of what happens.
const TOKEN = 'hookgate.token';
const REVIEW = 'hookgate.review';
const FIRST_PAUSE = 500; // ms until a lost stream is asked for again; doubles up to LAST_PAUSE
const LAST_PAUSE = 10_000;

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (value) => sessionStorage.setItem(TOKEN, value),
  clear: () => [TOKEN, REVIEW].forEach((name) => sessionStorage.removeItem(name)),
  review: () => sessionStorage.getItem(REVIEW),
  setReview: (value) => sessionStorage.setItem(REVIEW, value),
};

/** An address may bring the token behind `#`, as `hookgate run` prints it: it is kept in this tab, and leaves the address. */
export function takeToken() {
  const [, given] = /^#token=([\w.~-]+)$/.exec(location.hash) ?? [];
  if (!given) return;
  token.set(given);
  history.replaceState(null, '', '#/sessions');
}

/** A path of these segments, encoded, with a query. */
export function path(segments, query = {}) {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value != null)).toString();
  return `/v1/${segments.map(encodeURIComponent).join('/')}${search && `?${search}`}`;
}

/** Where one agent of a session is. */
export const agentPath = ({ tenant, session, agent }, ...rest) =>
  path(['sessions', session, 'agents', agent, ...rest], { tenant });

export async function ask(target, { method = 'GET', body, as = token.get(), signal } = {}) {
  const headers = { authorization: `Bearer ${as}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const answer = await fetch(target, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal });
  const text = await answer.text();
  const json = text.startsWith('{') ? JSON.parse(text) : text;
  if (answer.ok) return json;
  if (answer.status === 401 && as === token.get()) live.emit('unauthorized');
  throw new Refused(answer.status, json?.error?.code, json?.error?.message ?? `HTTP ${answer.status}`);
}

/** All items of a list, page by page. */
export async function all(segments, query = {}) {
  const items = [];
  let cursor;
  do {
    const page = await ask(path(segments, { limit: 500, ...query, cursor }));
    items.push(...page.items);
    cursor = page.next !== cursor ? page.next : null;
  } while (cursor);
  return items;
}

/** What happens, for whoever listens. Beside the gateway's events: `state` (whether the stream is there), `sync` (it is there
 * anew, what is shown may be old) and `unauthorized`. */
export const live = {
  connected: false,
  listeners: new Map(),
  on(name, listener) {
    const all = this.listeners.get(name) ?? this.listeners.set(name, new Set()).get(name);
    all.add(listener);
    return () => all.delete(listener);
  },
  emit(name, data) {
    this.listeners.get(name)?.forEach((listener) => listener(data));
  },
  stop() {
    this.stopping?.abort();
    this.stopping = undefined;
    this.tell(false);
  },
  tell(connected) {
    if (connected === this.connected) return;
    this.connected = connected;
    this.emit('state', connected);
  },
  async start() {
    this.stop();
    const stopping = (this.stopping = new AbortController());
    let pause = FIRST_PAUSE;
    while (!stopping.signal.aborted) {
      try {
        const answer = await fetch('/v1/events', {
          headers: { authorization: `Bearer ${token.get()}` },
          signal: stopping.signal,
        });
        if (answer.status === 401) return this.emit('unauthorized');
        if (answer.ok) {
          pause = FIRST_PAUSE;
          this.tell(true);
          this.emit('sync');
          await this.read(answer.body);
        }
      } catch {
        // Asked for again below.
      }
      if (stopping.signal.aborted) return;
      this.tell(false);
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(pause * 2, LAST_PAUSE);
    }
  },
  async read(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (text + value).split('\n\n');
      text = events.pop();
      for (const event of events) {
        const name = /^event: (.*)$/m.exec(event)?.[1];
        const data = event.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
        if (name) this.emit(name, data ? JSON.parse(data) : undefined);
      }
    }
  },
};
