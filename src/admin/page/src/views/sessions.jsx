import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { all, ask } from '../api.js';
import { ago, plural } from '../format.js';
import { Badge, Empty, Trouble } from '../parts.jsx';
import { to, useLive, useLoaded, useNow, useSoon } from '../use.js';
import { Session } from './session.jsx';

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
  const reload = useSoon(sessions.reload);
  useLive('session', reload);
  useLive('request', (news) => {
    if (!sessions.value?.some((one) => same(one, news))) return reload();
    sessions.change((was) =>
      was.map((one) => (same(one, news) ? { ...one, last_active: news.at, turns: Math.max(one.turns, news.turn), ended_at: null } : one)),
    );
    setRunning((was) => {
      const key = `${news.tenant}/${news.session}/${news.agent}`;
      const left = new Set(was[key]);
      news.state === 'done' ? left.delete(news.id) : left.add(news.id);
      return { ...was, [key]: left };
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
          {shown.map((one) => {
            const busy = running[`${one.tenant}/${one.id}/${one.agent}`]?.size > 0;
            const here = one.tenant === tenant && one.id === session && one.agent === agent;
            return (
              <li key={`${one.tenant}/${one.id}/${one.agent}`}>
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
