import { useEffect, useState, useSyncExternalStore } from 'react';
import type { RunModel } from '../../kernel/run-model.js';
import type { Overview } from '../wire.js';
import { openOverview } from './api.js';
import { SessionFeed } from './session-feed.js';

/** The feed of a session as long as the page shows it; another one for another session. */
export function useFeed(host: string | undefined, session: string | undefined): SessionFeed | undefined {
  const [feed, setFeed] = useState<SessionFeed>();
  useEffect(() => {
    if (host === undefined || session === undefined) return setFeed(undefined);
    const opened = new SessionFeed(host, session);
    setFeed(opened);
    return () => opened.close();
  }, [host, session]);
  return feed?.host === host && feed?.session === session ? feed : undefined;
}

const never = () => () => {};
const zero = () => 0;

/** Draws anew when the feed changes; its version. */
export function useFeedVersion(feed: SessionFeed | undefined): number {
  return useSyncExternalStore(feed?.subscribe ?? never, feed?.getVersion ?? zero);
}

/** The run as it is, or as it was; undefined: it is being fetched. */
export function useRun(feed: SessionFeed, seq: number | undefined): RunModel | undefined {
  useFeedVersion(feed);
  return seq === undefined ? feed.model : feed.modelAt(seq);
}

export function useOverview(): { readonly overview: Overview | undefined; readonly isConnected: boolean } {
  const [overview, setOverview] = useState<Overview>();
  const [isConnected, setConnected] = useState(true);
  useEffect(() => openOverview(setOverview, setConnected), []);
  return { overview, isConnected };
}

/** The time of day, anew every so often. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
