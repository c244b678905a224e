import { useRef } from 'preact/hooks';
import { agentPath, ask } from '../api.js';
import { moment, time } from '../format.js';
import { Badge, Empty, Trouble } from '../parts.jsx';
import { useLive, useLoaded, useSoon, useWork } from '../use.js';

const TONES = { queued: 'busy', delivered: 'good', refused: 'bad' };

export function Messages({ whose, mine }) {
  const letters = useLoaded(async () => (await ask(agentPath(whose, 'messages'))).items.reverse(), []);
  const reload = useSoon(letters.reload, 100);
  useLive('message', (news) => mine(news) && reload());
  const form = useRef();
  const send = useWork(async (given) => {
    await ask(agentPath(whose, 'messages'), { method: 'POST', body: { text: given.get('text'), kind: given.get('kind'), from: 'admin' } });
    form.current.reset();
    letters.reload();
  });
  const submit = (event) => {
    event.preventDefault();
    send.run(new FormData(form.current));
  };
  const byKey = (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && form.current.requestSubmit();
  return (
    <section class="messages" aria-label="Messages">
      <h2>Messages <span class="quiet">into the running agent</span></h2>
      <form ref={form} onSubmit={submit}>
        <textarea name="text" required rows={2} aria-label="Message to the agent" placeholder="What the agent should know" onKeyDown={byKey} />
        <div class="actions">
          <select name="kind" aria-label="Kind">
            <option value="note">note: next request</option>
            <option value="correction">correction: before it ends</option>
            <option value="halt">halt: end the turn</option>
          </select>
          <button class="main" disabled={send.busy} title="Ctrl+Enter">Send</button>
        </div>
        <Trouble error={send.error ?? letters.error} />
      </form>
      {letters.value?.length === 0 && <Empty>None yet.</Empty>}
      <ul class="plainly letters">
        {letters.value?.map((letter) => (
          <li key={letter.id}>
            <div class="row">
              <span class="quiet">
                <time dateTime={letter.queued_at} title={moment(letter.queued_at)}>{time(letter.queued_at)}</time> {letter.kind} from {letter.from}
              </span>
              <Badge tone={TONES[letter.state]} title={letter.reason}>
                {letter.state}{letter.turn != null && `, turn ${letter.turn}`}
              </Badge>
            </div>
            <p>{letter.text}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
