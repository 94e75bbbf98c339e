import { useCallback, useSyncExternalStore } from 'react';
import { formatRoute, parseRoute, type Route } from './route.js';

let hash = '';
let route: Route = parseRoute('');

function current(): Route {
  if (location.hash !== hash) {
    hash = location.hash;
    route = parseRoute(hash);
  }
  return route;
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}

/** Where the page is, and the way to go elsewhere: what is not said stays. */
export function useRoute(): readonly [Route, (change: Partial<Route>) => void] {
  const now = useSyncExternalStore(subscribe, current);
  const go = useCallback((change: Partial<Route>) => {
    const next = formatRoute({ ...current(), ...change });
    if (next === location.hash) return;
    // A moment on the way of the scrubber is no place to come back to.
    const isMoment = Object.keys(change).every((key) => key === 'seq');
    history[isMoment ? 'replaceState' : 'pushState'](null, '', next);
    dispatchEvent(new HashChangeEvent('hashchange'));
  }, []);
  return [now, go];
}
