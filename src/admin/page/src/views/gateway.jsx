import { ask } from '../api.js';
import { moment, plural } from '../format.js';
import { Badge, Facts, Trouble } from '../parts.jsx';
import { useLive, useLoaded, useWork } from '../use.js';

export function Gateway() {
  const active = useLoaded(() => ask('/v1/config'), []);
  const health = useLoaded(async () => ((await fetch('/readyz')).ok ? 'ready' : 'draining'), []);
  useLive('config', active.reload);
  useLive('state', health.reload);
  const reload = useWork(async () => {
    await ask('/v1/config/reload', { method: 'POST' });
  });
  const config = active.value;
  const isOver = config?.last_refused && config.last_refused.at < config.loaded_at;
  return (
    <section class="gateway" aria-label="Gateway">
      <div class="title">
        <h1>Gateway</h1>
        {health.value && <Badge tone={health.value === 'ready' ? 'good' : 'warn'}>{health.value}</Badge>}
        {health.error && <Badge tone="bad">not reached</Badge>}
        <span class="space" />
        <button type="button" disabled={reload.busy} onClick={() => reload.run()}>Read the configuration again</button>
      </div>
      <Trouble error={active.error ?? reload.error} />
      {config && (
        <>
          <Facts
            of={[
              ['Configuration', `version ${config.version}`],
              ['In effect since', moment(config.loaded_at)],
              ['Agents connect to', config.config.listen],
              ['Store', config.config.store.path ?? config.config.store.kind],
              ['Kept for this page', `${plural(config.config.inspect.requests_per_session, 'request')} a session${config.config.inspect.bodies ? ', with bodies' : ''}`],
            ]}
          />
          {config.last_refused ? (
            <div class={isOver ? 'refused over' : 'refused'}>
              <h2>Last refused reload, {moment(config.last_refused.at)}</h2>
              <p class="quiet">{isOver ? 'A later one has taken effect.' : 'What was in effect stayed.'}</p>
              <ul>{config.last_refused.problems.map((problem) => <li key={problem}><code>{problem}</code></li>)}</ul>
            </div>
          ) : (
            <p class="quiet">No reload was refused.</p>
          )}
          <h2>Configuration in effect</h2>
          <pre class="config" tabIndex={0}>{JSON.stringify(config.config, null, 2)}</pre>
        </>
      )}
    </section>
  );
}
