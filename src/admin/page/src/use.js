// Hooks that views share.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { live } from './api.js';

/** Listens to events of the stream for as long as the view is there. */
export function useLive(name, listener) {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => live.on(name, (data) => latest.current(data)), [name]);
}

/** What `load` gives; asked for again when a key changes, when the stream is there anew, and by `reload`. */
export function useLoaded(load, keys) {
  const [state, setState] = useState({});
  const latest = useRef(load);
  latest.current = load;
  const asked = useRef(0);
  const reload = useCallback(async () => {
    const mine = ++asked.current;
    try {
      const value = await latest.current();
      if (mine === asked.current) setState({ value });
    } catch (error) {
      if (mine === asked.current) setState((was) => ({ ...was, error }));
    }
  }, []);
  useEffect(() => {
    setState({});
    reload();
    return () => asked.current++;
  }, keys);
  useLive('sync', reload);
  const change = useCallback((by) => setState((was) => (was.value === undefined ? was : { ...was, value: by(was.value) })), []);
  return { ...state, reload, change };
}

/** Runs `work` once for many calls in a short time. */
export function useSoon(work, pause = 300) {
  const latest = useRef(work);
  latest.current = work;
  const timer = useRef();
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, pause);
  }, []);
}

/** A piece of work that a button starts: whether it runs, and what went wrong. */
export function useWork(work) {
  const [state, setState] = useState({ busy: false });
  const run = async (...given) => {
    setState({ busy: true });
    try {
      const done = await work(...given);
      setState({ busy: false });
      return done ?? true;
    } catch (error) {
      setState({ busy: false, error });
      return undefined;
    }
  };
  return { ...state, run };
}

function hash() {
  const parts = location.hash.replace(/^#\/?/, '').split('/').filter(Boolean);
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return []; // An address that somebody has cut.
  }
}

/** The parts of the place that the address names. */
export function usePlace() {
  const [place, setPlace] = useState(hash);
  useEffect(() => {
    const moved = () => setPlace(hash());
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  return place;
}

/** An address of a place in the page. */
export const to = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;

/** Renders again every so often: for what is told relative to now. */
export function useNow(every = 15_000) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
