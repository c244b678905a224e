import { useState } from 'preact/hooks';
import { all, ask, path, token } from '../api.js';
import { Diff, lines } from '../diff.jsx';
import { moment } from '../format.js';
import { Badge, Empty, Trouble } from '../parts.jsx';
import { to, useLive, useLoaded, useSoon, useWork } from '../use.js';

const STATUSES = ['pending', 'approved', 'rejected', 'superseded'];
const TONES = { approved: 'good', rejected: 'bad' };

export function Proposals({ place: [status = 'pending'] }) {
  const found = useLoaded(() => all(['proposals'], { status }), [status]);
  useLive('proposal', useSoon(found.reload, 100));
  return (
    <section class="proposals" aria-label="Proposals">
      <div class="title">
        <h1>Proposals</h1>
        <nav class="tabs shown" aria-label="By status">
          {STATUSES.map((one) => (
            <a key={one} href={to('proposals', one)} aria-current={one === status ? 'true' : undefined}>{one}</a>
          ))}
        </nav>
      </div>
      <p class="hint">What hooks and agents want remembered. Nothing of it reaches a model until it is approved.</p>
      <Trouble error={found.error} />
      {found.value?.length === 0 && <Empty>{status === 'pending' ? 'Nothing waits for a review.' : `Nothing is ${status}.`}</Empty>}
      {found.value?.map((proposal) => <Proposal key={proposal.id} proposal={proposal} onDone={found.reload} />)}
    </section>
  );
}

function Proposal({ proposal, onDone }) {
  const { supersedes } = proposal;
  const older = useLoaded(async () => (supersedes ? ask(path(['proposals', supersedes])) : null), [supersedes]);
  const [wantsToken, setWantsToken] = useState(false);
  const decide = useWork(async (what) => {
    try {
      await ask(path(['proposals', proposal.id, what]), { method: 'POST', as: token.review() ?? token.get() });
      onDone();
    } catch (error) {
      if (error.code === 'not_reviewer') setWantsToken(true);
      throw error;
    }
  });
  const { origin } = proposal;
  const scope = { session: `session ${proposal.session}`, project: `project ${proposal.project}`, all: 'all sessions' }[proposal.scope];
  return (
    <article class="proposal" aria-label={proposal.title}>
      <div class="title">
        <h2>{proposal.title}</h2>
        <Badge>{proposal.kind}</Badge>
        <Badge tone={TONES[proposal.status]}>{proposal.status}</Badge>
      </div>
      <p class="quiet">
        for {scope} · proposed by {origin.hook ?? 'somebody'}
        {origin.session && (
          <>
            {' in '}
            {proposal.tenant ? <a href={to('sessions', proposal.tenant, origin.session, origin.agent ?? 'main')}>{origin.session}</a> : origin.session}
            {origin.turn != null && `, turn ${origin.turn}`}
          </>
        )}
        {' · '}
        {moment(proposal.proposed_at)}
        {proposal.confidence != null && ` · confidence ${proposal.confidence}`}
        {proposal.decided_by && ` · decided by ${proposal.decided_by}`}
      </p>
      {older.value ? (
        <>
          <h3>Takes the place of “{older.value.title}”</h3>
          <Diff rows={lines(older.value.body, proposal.body)} label="Difference to what it supersedes" />
        </>
      ) : (
        <pre>{proposal.body}</pre>
      )}
      <Trouble error={decide.error ?? older.error} />
      {wantsToken && (
        <label class="review">
          Token of reviews (<code>knowledge.approve_token</code>)
          <input type="password" autocomplete="off" onInput={(event) => token.setReview(event.currentTarget.value)} />
        </label>
      )}
      {(proposal.status === 'pending' || proposal.status === 'approved') && (
        <div class="actions">
          {proposal.status === 'pending' && (
            <button type="button" class="main" disabled={decide.busy} onClick={() => decide.run('approve')}>Approve</button>
          )}
          <button type="button" class="danger" disabled={decide.busy} onClick={() => decide.run('reject')}>
            {proposal.status === 'approved' ? 'Take back' : 'Reject'}
          </button>
        </div>
      )}
    </article>
  );
}
