import { Component } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { agentPath, ask } from '../api.js';
import { compact, count, duration, plural, time } from '../format.js';
import { Badge, Empty, Trouble } from '../parts.jsx';
import { to, useLive, useLoaded } from '../use.js';
import { Request } from './request.jsx';

const OUTCOMES = {
  completed: ['good', 'completed'],
  step: ['', 'tool step'],
  failed: ['bad', 'failed'],
  replied: ['warn', 'gateway replied'],
  refused: ['bad', 'not sent'],
  unfollowed: ['', 'sent'],
};
const STEPS = { prompt: 'prompt', tool: 'tool results', resume: 'resumed', empty: 'empty' };
/** The chips of a row; what is beyond is counted. */
const MAX_CHIPS = 6;
/** Rows that are made at once: what a screen shows at first; the others follow in parts of this size. */
const AT_ONCE = 100;

/** The list with what the stream says of one request. */
function told(was, news) {
  const at = was.findIndex((one) => one.id === news.id);
  if (at < 0) return [news, ...was];
  return was.with(at, news);
}

/** The list with a run of a hook; those that a request does not know yet come with it later. */
function ran(was, { request, run }) {
  const at = was.findIndex((one) => one.id === request);
  return at < 0 ? was : was.with(at, { ...was[at], hooks: [...was[at].hooks, run] });
}

export function Timeline({ whose, mine, open }) {
  const requests = useLoaded(async () => (await ask(agentPath(whose, 'requests'))).items, []);
  useLive('request', (news) => mine(news) && requests.change((was) => told(was, news)));
  useLive('hook', (news) => mine(news) && news.request && requests.change((was) => ran(was, news)));
  const list = useRef();
  useEffect(() => {
    const move = (event) => {
      const by = { j: 1, k: -1 }[event.key];
      if (!by || event.metaKey || event.ctrlKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
      const rows = [...(list.current?.querySelectorAll('.summary') ?? [])];
      const at = rows.indexOf(document.activeElement);
      rows[Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus();
    };
    addEventListener('keydown', move);
    return () => removeEventListener('keydown', move);
  }, []);
  const all = requests.value;
  const [made, setMade] = useState(AT_ONCE);
  useEffect(() => {
    if (made >= (all?.length ?? 0)) return;
    const timer = setTimeout(() => setMade(made + AT_ONCE));
    return () => clearTimeout(timer);
  }, [made, all?.length]);
  return (
    <section class="timeline" aria-label="Timeline">
      <h2>
        Timeline {all?.length > 0 && <span class="quiet">{plural(all.length, 'request')}, newest first</span>}
        <span class="keys quiet" aria-hidden="true"><kbd>j</kbd> <kbd>k</kbd> down, up</span>
      </h2>
      <Trouble error={requests.error} />
      {all?.length === 0 && (
        <Empty>Nothing is kept of its requests. They appear here as they come (<code>inspect.requests_per_session</code>).</Empty>
      )}
      <ol ref={list}>
        {all?.slice(0, made).map((request, index) => (
          <Row key={request.id} request={request} whose={whose} isOpen={request.id === open} isNewTurn={all[index + 1]?.turn !== request.turn} />
        ))}
      </ol>
    </section>
  );
}

/** Made again only when something of it has changed: there may be thousands. */
class Row extends Component {
  shouldComponentUpdate({ request, isOpen, isNewTurn }) {
    return request !== this.props.request || isOpen !== this.props.isOpen || isNewTurn !== this.props.isNewTurn;
  }
  render(props) {
    return <Line {...props} />;
  }
}

function Line({ request, whose, isOpen, isNewTurn }) {
  const { tenant, session, agent } = whose;
  const toggle = () => {
    location.hash = isOpen ? to('sessions', tenant, session, agent) : to('sessions', tenant, session, agent, request.id);
  };
  const [tone, outcome] = request.state === 'done' ? (OUTCOMES[request.outcome] ?? ['', request.outcome]) : ['busy', request.state === 'answering' ? 'answering' : request.sent == null ? 'hooks run' : 'waiting'];
  return (
    <li class={isNewTurn ? 'first' : ''}>
      <button type="button" class="summary" aria-expanded={isOpen} onClick={toggle}>
        <time dateTime={request.at}>{time(request.at)}</time>
        <span class="what">
          <span class="turn">{request.turn > 0 ? `Turn ${request.turn}` : request.kind === 'turn' ? 'New turn' : request.kind}</span>
          <span class="quiet">{STEPS[request.step] ?? request.step}</span>
        </span>
        <span class="chips"><Chips request={request} /></span>
        <Tokens usage={request.usage} />
        <span class="took">{duration(request.took_us)}</span>
        <span class="outcome"><Badge tone={tone} title={request.reason}>{request.reason && request.outcome === 'failed' ? request.reason.replaceAll('_', ' ') : outcome}</Badge></span>
      </button>
      {isOpen && <Request whose={whose} summary={request} />}
    </li>
  );
}

function Chips({ request }) {
  const { hooks, continuations = [], messages = [], cache, calls = [] } = request;
  const acting = hooks.filter((run) => run.result === 'failed' || run.effects.length > 0);
  return (
    <>
      {acting.slice(0, MAX_CHIPS).map((run, index) => (
        <span key={index} class={`chip ${run.result === 'failed' ? 'bad' : run.audit ? 'audit' : ''}`} title={`${run.event}, ${duration(run.took_us)}${run.failure ? `: ${run.failure}` : ''}`}>
          {run.result === 'failed' && '✕ '}
          {run.hook}
          {run.audit && ' (audit)'}
        </span>
      ))}
      {acting.length > MAX_CHIPS && <span class="quiet">+{acting.length - MAX_CHIPS}</span>}
      {continuations.length > 0 && <span class="chip mark">↻ {plural(continuations.length, 'continuation')}</span>}
      {messages.length > 0 && <span class="chip mark">✉ {plural(messages.length, 'message')}</span>}
      {cache?.broken_by?.length > 0 && (
        <span class="chip warn" title={`The prompt cache broke at the text of ${cache.broken_by.join(', ')}`}>
          cache break{cache.reread_tokens > 0 && `, ${compact(cache.reread_tokens)} re-read`}
        </span>
      )}
      {calls.length > 0 && <span class="quiet calls">→ {calls.slice(0, 3).join(', ')}{calls.length > 3 && ` +${calls.length - 3}`}</span>}
      {acting.length === 0 && calls.length === 0 && request.standing > 0 && (
        <span class="quiet">{plural(request.standing, 'text')} of hooks</span>
      )}
    </>
  );
}

/** Input, of it read from the cache, and output. */
function Tokens({ usage }) {
  if (!usage) return <span class="tokens" />;
  const input = usage.input + usage.cached_input;
  const cached = input ? usage.cached_input / input : 0;
  const words = `${count(input)} tokens in, ${count(usage.cached_input)} of them from the cache; ${count(usage.output)} out`;
  return (
    <span class="tokens" title={words} aria-label={words}>
      <span>{compact(input)} in · {compact(usage.output)} out</span>
      <span class="cached">
        <svg class="bar" viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true">
          <rect class="all" width="100" height="3" />
          <rect class="part" width={100 * cached} height="3" />
        </svg>
        {Math.floor(100 * cached)} % cached
      </span>
    </span>
  );
}

