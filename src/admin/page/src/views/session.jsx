import { useState } from 'preact/hooks';
import { agentPath, ask } from '../api.js';
import { count, moment } from '../format.js';
import { Badge, Facts, Sure, Trouble } from '../parts.jsx';
import { to, useLive, useLoaded, useSoon, useWork } from '../use.js';
import { Context } from './context.jsx';
import { Messages } from './messages.jsx';
import { Timeline } from './timeline.jsx';

const concerns = (whose) => (news) =>
  news.tenant === whose.tenant && news.session === whose.session && news.agent === whose.agent;

export function Session({ whose, open }) {
  const [tab, setTab] = useState('timeline');
  const record = useLoaded(() => ask(agentPath(whose)), []);
  const reload = useSoon(record.reload);
  const mine = concerns(whose);
  useLive('request', (news) => mine(news) && news.state === 'done' && reload());
  useLive('context', (news) => mine(news) && reload());
  useLive('session', (news) => mine(news) && reload());
  useLive('hook', (news) => mine(news) && news.run.effects.some((effect) => /context$/.test(effect)) && reload());
  const end = useWork(async () => {
    await ask(agentPath(whose, 'end'), { method: 'POST' });
    record.reload();
  });
  const session = record.value;
  const tabs = [
    ['timeline', 'Timeline'],
    ['context', 'Context'],
    ['messages', 'Messages'],
  ];
  return (
    <section class="session" aria-label={`Session ${whose.session}`} data-tab={tab}>
      <div class="title">
        <a class="back" href={to('sessions')} aria-label="Back to all sessions">←</a>
        <h1>{whose.session}</h1>
        <span class="agent">{session?.label ?? whose.agent}</span>
        {session && (session.ended_at ? <Badge>ended</Badge> : <Badge tone="good">active</Badge>)}
        <span class="space" />
        {session && !session.ended_at && (
          <Sure ask="Run session.end now?" onSure={end.run} disabled={end.busy}>End session</Sure>
        )}
      </div>
      <Trouble error={record.error ?? end.error} />
      {session && (
        <Facts
          of={[
            ['Model', session.model && (session.model.resolved === session.model.requested ? session.model.resolved : `${session.model.requested} → ${session.model.resolved}`)],
            ['Upstream', session.model && (session.model.upstream === session.model.dialect ? session.model.upstream : `${session.model.upstream} (${session.model.dialect})`)],
            ['Client', session.client],
            ['Project', session.project],
            ['Parent', session.parent],
            ['Turns', count(session.turns)],
            ['Began', `${moment(session.started_at)} (${session.source})`],
          ]}
        />
      )}
      <div class="tabs" role="tablist" aria-label="Of this session">
        {tabs.map(([name, title]) => (
          <button key={name} type="button" role="tab" aria-selected={tab === name} onClick={() => setTab(name)}>{title}</button>
        ))}
      </div>
      <div class="columns">
        <Timeline whose={whose} mine={mine} open={open} />
        <div class="aside">
          <Context whose={whose} session={session} onChange={record.reload} />
          <Messages whose={whose} mine={mine} />
        </div>
      </div>
    </section>
  );
}
