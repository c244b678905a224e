import { useEffect, useRef } from 'preact/hooks';
import { agentPath, ask } from '../api.js';
import { Diff, unified } from '../diff.jsx';
import { compact, count, duration, moment, plural, size } from '../format.js';
import { Badge, Facts, Trouble } from '../parts.jsx';
import { useLoaded } from '../use.js';

export function Request({ whose, summary }) {
  // What the stream tells of it is without texts: asked for again whenever something new is known.
  const stage = `${summary.state} ${summary.sent} ${summary.hooks.length}`;
  const whole = useLoaded(() => ask(agentPath(whose, 'requests', summary.id)), [summary.id]);
  const shown = useRef(stage);
  useEffect(() => {
    if (shown.current !== stage) whole.reload();
    shown.current = stage;
  }, [stage]);
  const request = whole.value ?? summary;
  return (
    <div class="detail">
      <Trouble error={whole.error} />
      <Facts of={facts(request)} />
      {request.error && <p class="trouble">{request.error}</p>}
      <Runs hooks={request.hooks} />
      {whole.value && <Changed request={whole.value} />}
      {request.continuations?.length > 0 && (
        <>
          <h3>Continued</h3>
          <ul class="plainly">
            {request.continuations.map((one, index) => (
              <li key={index}><Badge tone="busy">{one.by.replace('_', ' ')}</Badge> {one.text}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function facts(request) {
  const { usage, cache, budget } = request;
  return [
    ['Came', moment(request.at)],
    ['Model', request.resolved ? `${request.model} → ${request.resolved}` : request.model],
    ['Body', request.sent == null ? size(request.received) : `${size(request.received)} → ${size(request.sent)}, ${plural(request.items, 'message')}`],
    ['Went up', request.prepared_us != null && `after ${duration(request.prepared_us)}`],
    ['Answer began', request.answered_us != null && `after ${duration(request.answered_us)}, status ${request.status}`],
    ['Ended', request.took_us != null && `after ${duration(request.took_us)}${request.finish ? `, ${request.finish.replace('_', ' ')}` : ''}`],
    ['Tokens', usage && `${count(usage.input)} in, ${count(usage.cached_input)} from the cache, ${count(usage.output)} out`],
    ['Prefix kept', cache && kept(cache)],
    ['New texts', budget && `${count(budget.used)} of ${count(budget.limit)} characters${left(budget)}`],
    ['Messages', request.messages?.length > 0 && request.messages.join(', ')],
    ['Request', request.id],
  ].filter(([, value]) => value);
}

function kept({ before, client, sent, broken_by: hooks, reread_tokens: tokens }) {
  const percent = before ? Math.round((100 * sent) / before) : 100;
  if (!hooks?.length) return `${percent} % of the request before`;
  return `${percent} % instead of ${Math.round((100 * client) / before)} %: broken by ${hooks.join(', ')}${tokens ? `, about ${compact(tokens)} tokens re-read` : ''}`;
}

const left = ({ cut, left_out: out }) =>
  `${cut.length ? `; cut: ${cut.join(', ')}` : ''}${out.length ? `; left out: ${out.join(', ')}` : ''}`;

function Runs({ hooks }) {
  if (hooks.length === 0) return <p class="quiet">No hook ran for it.</p>;
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Hooks that ran">
      <table class="runs">
        <thead>
          <tr><th scope="col">Hook</th><th scope="col">Event</th><th scope="col">Result</th><th scope="col" class="number">Took</th><th scope="col">Did</th></tr>
        </thead>
        <tbody>
          {hooks.map((run, index) => (
            <tr key={index}>
              <th scope="row">{run.hook}</th>
              <td class="quiet">{run.event}</td>
              <td>{run.result === 'failed' ? <Badge tone="bad">failed</Badge> : run.audit ? <Badge tone="warn">audit</Badge> : <Badge tone="good">ok</Badge>}</td>
              <td class="number">{duration(run.took_us)}</td>
              <td>{run.failure ?? did(run)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function did(run) {
  const effects = run.effects.filter((effect) => effect !== 'edits');
  const words = effects.map((effect) => (effect === 'context' ? `context, ${plural(run.context_chars, 'character')}` : effect));
  const all = [...words, ...(run.edits ?? []).map((edit) => edit.op)];
  if (all.length === 0) return <span class="quiet">nothing</span>;
  return `${run.audit ? 'would have: ' : ''}${all.join(', ')}`;
}

/** What hooks changed: the difference of the bodies where they are kept, else the texts and edits of hooks. */
function Changed({ request }) {
  const { bodies } = request;
  if (bodies) {
    return (
      <>
        <h3>From the client to the model</h3>
        {bodies.diff ? <Diff rows={unified(bodies.diff)} label="What hooks changed of the body" /> : <p class="quiet">The body went up as it came.</p>}
      </>
    );
  }
  const rows = placed(request);
  if (rows.length === 0) return request.sent != null && <p class="quiet">Hooks placed and changed nothing.</p>;
  return (
    <>
      <h3>What hooks placed and changed</h3>
      <Diff rows={rows} label="What hooks placed and changed" />
      <p class="hint">Bodies are not kept; <code>inspect.bodies: true</code> shows them before and after.</p>
    </>
  );
}

function placed({ texts = [], hooks }) {
  const rows = [];
  let last;
  for (const text of texts) {
    const place = text.place === 'system' ? 'system prompt' : `message ${text.item + 1}`;
    const head = `${place} · ${text.source || 'unknown'} · ${text.kind}`;
    if (head !== last) rows.push(['@', head, text.is_new ? undefined : 'stood there before']);
    last = head;
    rows.push(...text.text.split('\n').map((line) => [text.is_new ? '+' : ' ', line]));
  }
  for (const run of hooks.filter((run) => !run.audit && run.result === 'ok')) {
    for (const { op, arguments: given } of run.edits ?? []) {
      rows.push(['@', `${op} · ${run.hook}`]);
      rows.push(...edited(op, given).map(([sign, line]) => [sign, line]));
    }
    for (const { what, text } of (run.said ?? []).filter((said) => said.what !== 'context')) {
      rows.push(['@', `${what} · ${run.hook}`], ...text.split('\n').map((line) => ['~', line]));
    }
  }
  return rows;
}

/** An edit as lines: its text where it adds or removes some, else its arguments. */
function edited(op, given) {
  let values;
  try {
    values = JSON.parse(given || '{}');
  } catch {
    return [['~', given]]; // It was cut.
  }
  const sign = /append|prepend|add$/.test(op) ? '+' : /remove|keep$/.test(op) ? '-' : '~';
  const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
  if (typeof values.text === 'string') return values.text.split('\n').map((line) => [sign, line]);
  if (Array.isArray(values.names)) return [[op === 'tools.keep' ? '~' : sign, `${op === 'tools.keep' ? 'only ' : ''}${values.names.join(', ')}`]];
  return Object.entries(values).map(([name, value]) => [sign, `${name}: ${text(value)}`]);
}
