// The admin page: the token, the places, and what is there at each.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { all, live, takeToken, token } from './api.js';
import { Gateway } from './views/gateway.jsx';
import { Login } from './views/login.jsx';
import { Pipeline } from './views/pipeline.jsx';
import { Proposals } from './views/proposals.jsx';
import { Sessions } from './views/sessions.jsx';
import { to, useLive, useLoaded, usePlace, useSoon } from './use.js';

const PLACES = [
  ['sessions', 'Sessions', Sessions],
  ['proposals', 'Proposals', Proposals],
  ['pipeline', 'Pipeline', Pipeline],
  ['gateway', 'Gateway', Gateway],
];

function Page() {
  const [known, setKnown] = useState(Boolean(token.get()));
  useLive('unauthorized', () => leave());
  useEffect(() => {
    if (!known) return undefined;
    // A tab that nobody sees costs the gateway nothing, and takes none of the few connections that a browser has for one place.
    const follow = () => (document.hidden ? live.stop() : live.start());
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      live.stop();
    };
  }, [known]);
  const leave = () => {
    token.clear();
    setKnown(false);
  };
  return known ? <Inside leave={leave} /> : <Login onToken={() => setKnown(true)} />;
}

function Inside({ leave }) {
  const [place = 'sessions', ...rest] = usePlace();
  const [connected, setConnected] = useState(live.connected);
  const [config, setConfig] = useState();
  const pending = useLoaded(() => all(['proposals'], { status: 'pending' }), []);
  useLive('state', setConnected);
  useLive('config', setConfig);
  useLive('proposal', useSoon(pending.reload));
  const View = PLACES.find(([name]) => name === place)?.[2] ?? Sessions;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.querySelector('main').focus())}>
        To the content
      </a>
      <header>
        <a class="name" href="#/sessions">
          <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
            <path d="M3 14V6a5 5 0 0 1 10 0v8M8 14V7" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" />
          </svg>
          hookgate
        </a>
        <nav aria-label="Views">
          {PLACES.map(([name, title, its]) => (
            <a key={name} href={to(name)} aria-current={View === its ? 'page' : undefined}>
              {title}
              {name === 'proposals' && pending.value?.length > 0 && (
                <span class="number" aria-label={`${pending.value.length} pending`}>{pending.value.length}</span>
              )}
            </a>
          ))}
        </nav>
        <div class="health">
          <span class={connected ? 'live on' : 'live'} role="status">{connected ? 'live' : 'connecting'}</span>
          {config?.last_refused > config?.loaded_at && <a class="badge bad" href="#/gateway">reload refused</a>}
          {config && <a class="version" href="#/gateway" title="Version of the configuration">v{config.version}</a>}
          <button type="button" class="plain" onClick={leave}>Sign out</button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <View place={rest} pending={pending} />
      </main>
    </>
  );
}

takeToken();
render(<Page />, document.body);
