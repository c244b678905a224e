// Figures for people.
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const whole = new Intl.NumberFormat();
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export const time = (at) => clock.format(new Date(at));
export const moment = (at) => date.format(new Date(at));
export const count = (number) => whole.format(number ?? 0);
export const compact = (number) => short.format(number ?? 0).toLowerCase();

export function ago(at, now) {
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1000));
  if (seconds < 45) return 'now';
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function duration(us) {
  if (us == null) return '';
  if (us < 1000) return `${us} µs`;
  if (us < 1_000_000) return `${Math.round(us / 1000)} ms`;
  if (us < 60_000_000) return `${(us / 1_000_000).toFixed(1)} s`;
  return `${Math.floor(us / 60_000_000)} min ${Math.round((us % 60_000_000) / 1_000_000)} s`;
}

export function size(bytes) {
  if (bytes == null) return '–';
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
