import { useState } from 'preact/hooks';
import { agentPath, ask } from '../api.js';
import { moment } from '../format.js';
import { Empty, Sure, Trouble } from '../parts.jsx';
import { useWork } from '../use.js';

export function Context({ whose, session, onChange }) {
  const [adding, setAdding] = useState(false);
  const slots = Object.entries(session?.slots ?? {});
  return (
    <section class="context" aria-label="Persistent context">
      <h2>
        Context <span class="quiet">persistent</span>
        <button type="button" class="plain" aria-expanded={adding} onClick={() => setAdding(!adding)}>{adding ? 'Cancel' : 'Add a slot'}</button>
      </h2>
      {adding && <NewSlot whose={whose} onDone={() => (setAdding(false), onChange())} />}
      {session && slots.length === 0 && !adding && <Empty>No slot holds anything.</Empty>}
      {slots.map(([name, slot]) => <Slot key={name} whose={whose} name={name} slot={slot} onChange={onChange} />)}
    </section>
  );
}

function Slot({ whose, name, slot, onChange }) {
  const [draft, setDraft] = useState();
  const target = agentPath(whose, 'context', name);
  const save = useWork(async () => {
    await ask(target, { method: 'PUT', body: { text: draft } });
    setDraft(undefined);
    onChange();
  });
  const clear = useWork(async () => {
    await ask(target, { method: 'DELETE' });
    onChange();
  });
  const isEdited = draft !== undefined;
  return (
    <article class="slot">
      <div class="row">
        <h3>{name}</h3>
        <span class="quiet" title={moment(slot.updated_at)}>by {slot.by}</span>
      </div>
      {isEdited ? (
        <textarea
          aria-label={`Text of ${name}`}
          value={draft}
          rows={Math.min(16, draft.split('\n').length + 2)}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Escape' && setDraft(undefined)}
          ref={(area) => area && document.activeElement !== area && !area.dataset.seen && ((area.dataset.seen = '1'), area.focus())}
        />
      ) : (
        <pre>{slot.text}</pre>
      )}
      <Trouble error={save.error ?? clear.error} />
      <div class="actions">
        {isEdited ? (
          <>
            <button type="button" class="main" disabled={save.busy || !draft.trim()} onClick={() => save.run()}>Save</button>
            <button type="button" class="plain" onClick={() => setDraft(undefined)}>Cancel</button>
          </>
        ) : (
          <>
            <button type="button" onClick={() => setDraft(slot.text)} aria-label={`Edit ${name}`}>Edit</button>
            <Sure ask="Really clear it?" onSure={clear.run} disabled={clear.busy}>Clear</Sure>
          </>
        )}
      </div>
    </article>
  );
}

function NewSlot({ whose, onDone }) {
  const add = useWork(async (form) => {
    await ask(agentPath(whose, 'context', form.get('name').trim()), { method: 'PUT', body: { text: form.get('text') } });
    onDone();
  });
  const submit = (event) => {
    event.preventDefault();
    add.run(new FormData(event.currentTarget));
  };
  return (
    <form class="slot" onSubmit={submit}>
      <label>Slot <input name="name" required maxLength={256} /></label>
      <label>Text <textarea name="text" required rows={3} /></label>
      <Trouble error={add.error} />
      <div class="actions"><button class="main" disabled={add.busy}>Set</button></div>
    </form>
  );
}
