import { ask, token } from '../api.js';
import { Trouble } from '../parts.jsx';
import { useWork } from '../use.js';

export function Login({ onToken }) {
  const enter = useWork(async (given) => {
    try {
      await ask('/v1/config', { as: given });
    } catch (error) {
      throw error.status === 401 ? new Error("This is not the gateway's admin token.") : error;
    }
    token.set(given);
    onToken();
  });
  const submit = (event) => {
    event.preventDefault();
    enter.run(new FormData(event.currentTarget).get('token').trim());
  };
  return (
    <main class="login">
      <form onSubmit={submit}>
        <h1>hookgate</h1>
        <label for="token">Admin token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
        <p class="hint">
          <code>admin.token</code> of the configuration, or the file <code>admin.token</code> in the store's folder. It stays in
          this tab.
        </p>
        <Trouble error={enter.error} />
        <button class="main" disabled={enter.busy}>Open</button>
      </form>
    </main>
  );
}
