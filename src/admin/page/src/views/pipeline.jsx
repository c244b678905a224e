import { useState } from 'preact/hooks';
import { ask } from '../api.js';
import { compact, count, duration, moment } from '../format.js';
import { Badge, Empty, Trouble } from '../parts.jsx';
import { useLive, useLoaded, useSoon } from '../use.js';

export function Pipeline() {
  const hooks = useLoaded(async () => (await ask('/v1/hooks')).items, []);
  const reload = useSoon(hooks.reload, 1000);
  useLive('hook', reload);
  useLive('config', reload);
  return (
    <section class="pipeline" aria-label="Pipeline">
      <div class="title"><h1>Pipeline</h1><span class="quiet">hooks in their order, since the start of the gateway</span></div>
      <Trouble error={hooks.error} />
      {hooks.value?.length === 0 && <Empty>No hook is configured. <code>hooks:</code> in the configuration says what runs, and when.</Empty>}
      {hooks.value?.length > 0 && (
        <div class="scroll" tabIndex={0} role="group" aria-label="Hooks">
          <table class="hooks">
            <thead>
              <tr>
                <th scope="col">Hook</th><th scope="col">Event</th><th scope="col" class="number">Ran</th><th scope="col" class="number">Skipped</th>
                <th scope="col" class="number">Failed</th><th scope="col" class="number">Mean</th><th scope="col">Audit: would have</th><th scope="col">Cache breaks</th>
              </tr>
            </thead>
            <tbody>{hooks.value.map((hook, index) => <Hook key={hook.name} hook={hook} index={index} />)}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Hook({ hook, index }) {
  const [isOpen, setOpen] = useState(false);
  const { config, events, cache } = hook;
  const failure = events.map((event) => event.last_failure).filter(Boolean).sort((a, b) => b.at.localeCompare(a.at))[0];
  return (
    <>
      {events.map((on, row) => (
        <tr key={on.event} class={row === 0 ? 'first' : ''}>
          {row === 0 && (
            <th scope="rowgroup" rowSpan={events.length}>
              <button type="button" class="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                <span class="quiet">{index + 1}</span> {hook.name}
              </button>
              <span class="quiet rule">{summary(config)}</span>
              {config.mode === 'audit' && <Badge tone="warn">audit</Badge>}
            </th>
          )}
          <td class="event">{on.event}</td>
          <td class="number" data-is="ran">{count(on.ran)}</td>
          <td class="number quiet" data-is="skipped">{count(on.skipped)}</td>
          <td class="number" data-is="failed">{on.failed > 0 ? <Badge tone="bad">{count(on.failed)}</Badge> : <span class="quiet">0</span>}</td>
          <td class="number" data-is="mean">{duration(on.mean_us)}</td>
          <td data-is="audit: would have">{Object.entries(on.would).map(([effect, times]) => `${effect} ${count(times)}×`).join(', ')}</td>
          {row === 0 && (
            <td rowSpan={events.length} data-is="cache breaks">
              {cache.count > 0 && <Badge tone="warn">{count(cache.count)}, {compact(cache.reread_tokens)} tokens re-read</Badge>}
            </td>
          )}
        </tr>
      ))}
      {isOpen && (
        <tr class="opened">
          <td colSpan={8}>
            {failure && <p class="trouble">Last failure, {moment(failure.at)}: {failure.what}</p>}
            <pre>{JSON.stringify(config, null, 2)}</pre>
          </td>
        </tr>
      )}
    </>
  );
}

/** What a hook does, in a few words. */
function summary({ run, when }) {
  const [kind, what] = Object.entries(run)[0] ?? [];
  const words = {
    text: () => `text “${what.length > 40 ? `${what.slice(0, 40)}…` : what}”`,
    file: () => `file ${what}`,
    command: () => what.join(' '),
    worker: () => `worker ${what.join(' ')}`,
    http: () => what.url,
    edits: () => what.map((edit) => edit.op).join(', '),
    model_context: () => `model context: ${Object.keys(what.families).join(', ')}`,
    knowledge: () => `up to ${what.max_entries} approved entries`,
  }[kind];
  return `${words ? words() : (kind ?? '').replace('_', ' ')}${when ? ` · when ${when}` : ''}`;
}
