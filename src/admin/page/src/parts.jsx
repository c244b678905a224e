// Small parts that views share.
import { useState } from 'preact/hooks';

export const Trouble = ({ error }) => error && <p class="trouble" role="alert">{error.message}</p>;

export const Empty = ({ children }) => <p class="empty">{children}</p>;

/** A badge; `tone`: good, bad, warn, busy or none. */
export const Badge = ({ tone, children, title }) => <span class={`badge ${tone ?? ''}`} title={title}>{children}</span>;

/** A button that asks once more before it does what can't be undone. */
export function Sure({ children, ask, onSure, disabled }) {
  const [sure, setSure] = useState(false);
  return (
    <button
      type="button"
      class={sure ? 'danger sure' : 'danger'}
      disabled={disabled}
      onBlur={() => setSure(false)}
      onClick={() => (sure ? (setSure(false), onSure()) : setSure(true))}
    >
      {sure ? ask : children}
    </button>
  );
}

export function Facts({ of }) {
  return (
    <dl class="facts">
      {of.filter(([, value]) => value !== undefined && value !== null && value !== '').map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
