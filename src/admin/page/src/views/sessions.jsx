import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { agentPath, all, ask } from '../api.js';
import { ago, count, plural } from '../format.js';
import { Badge, Empty, Trouble } from '../parts.jsx';
import { to, useLive, useLoaded, useNow } from '../use.js';
import { Session } from './session.jsx';

/** Sessions that are listed at once; the filter finds the others. */
const MAX_LISTED = 200;

const name = ({ tenant, session, agent }) => `${tenant}/${session}/${agent}`;
const same = (one, other) => one.tenant === other.tenant && one.id === other.session && one.agent === other.agent;

/** Why there is none: a gateway without hooks reads no request. */
function NoSession() {
  const hooks = useLoaded(async () => (await ask('/v1/hooks')).items, []);
  useLive('config', hooks.reload);
  if (!hooks.value) return <Trouble error={hooks.error} />;
  if (hooks.value.length > 0) return <Empty>No session yet. Point an agent at the gateway, and it appears here.</Empty>;
  return <Empty>No session, as no hook is configured: requests pass unread. With the first of <code>hooks:</code> sessions appear here.</Empty>;
}

export function Sessions({ place }) {
  const [tenant, session, agent, request] = place;
  const now = useNow();
  const [words, setWords] = useState('');
  const [running, setRunning] = useState({});
  const filter = useRef();
  const sessions = useLoaded(() => all(['sessions']), []);
  // There may be thousands: one that is new is asked for alone.
  const asked = useRef(new Set());
  const adopt = async (news) => {
    const key = name(news);
    if (asked.current.has(key)) return;
    asked.current.add(key);
    const one = await ask(agentPath(news)).catch(() => undefined); // Its first request may not be that far yet.
    asked.current.delete(key);
    if (one) sessions.change((was) => (was.some((other) => same(other, news)) ? was : [...was, one]));
  };
  // What ended meanwhile was not told.
  useLive('sync', () => setRunning({}));
  useLive('session', (news) =>
    sessions.change((was) =>
      news.state === 'deleted'
        ? was.filter((one) => !same(one, news))
        : was.map((one) => (same(one, news) ? { ...one, ended_at: new Date().toISOString() } : one)),
    ),
  );
  useLive('request', (news) => {
    if (!sessions.value?.some((one) => same(one, news))) return adopt(news);
    sessions.change((was) =>
      was.map((one) => (same(one, news) ? { ...one, last_active: news.at, turns: Math.max(one.turns, news.turn), ended_at: null } : one)),
    );
    setRunning((was) => {
      const { [name(news)]: before, ...others } = was;
      const left = new Set(before);
      news.state === 'done' ? left.delete(news.id) : left.add(news.id);
      return left.size > 0 ? { ...others, [name(news)]: left } : others;
    });
  });
  useEffect(() => {
    const find = (event) => {
      if (event.key !== '/' || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
      event.preventDefault();
      filter.current?.focus();
    };
    addEventListener('keydown', find);
    return () => removeEventListener('keydown', find);
  }, []);
  const shown = useMemo(() => {
    const wanted = words.trim().toLowerCase();
    const holds = (one) => [one.id, one.agent, one.label, one.project, one.client].some((text) => text?.toLowerCase().includes(wanted));
    return (sessions.value ?? []).filter((one) => !wanted || holds(one)).sort((a, b) => b.last_active.localeCompare(a.last_active));
  }, [sessions.value, words]);

  return (
    <div class={session ? 'split chosen' : 'split'}>
      <section class="list" aria-label="Sessions">
        <div class="filter">
          <input
            ref={filter}
            type="search"
            placeholder="Filter sessions ( / )"
            aria-label="Filter sessions"
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        </div>
        <Trouble error={sessions.error} />
        {sessions.value && shown.length === 0 && (words ? <Empty>No session matches.</Empty> : <NoSession />)}
        <ul>
          {shown.slice(0, MAX_LISTED).map((one) => {
            const key = name({ ...one, session: one.id });
            const busy = running[key]?.size > 0;
            const here = one.tenant === tenant && one.id === session && one.agent === agent;
            return (
              <li key={key}>
                <a href={to('sessions', one.tenant, one.id, one.agent)} aria-current={here ? 'true' : undefined}>
                  <span class="row">
                    <strong>{one.id}</strong>
                    <time dateTime={one.last_active}>{ago(one.last_active, now)}</time>
                  </span>
                  <span class="row quiet">
                    <span>
                      {one.label ?? one.agent} · {plural(one.turns, 'turn')}
                      {one.project && ` · ${one.project}`}
                    </span>
                    {busy ? <Badge tone="busy">running</Badge> : one.ended_at ? <span>ended</span> : null}
                  </span>
                </a>
              </li>
            );
          })}
        </ul>
        {shown.length > MAX_LISTED && <p class="more quiet">{count(shown.length - MAX_LISTED)} more, which the filter finds</p>}
      </section>
      {session ? (
        <Session key={`${tenant}/${session}/${agent}`} whose={{ tenant, session, agent }} open={request} />
      ) : (
        <section class="nothing">
          <Empty>Choose a session to see what its requests went through.</Empty>
        </section>
      )}
    </div>
  );
}
