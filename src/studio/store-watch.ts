import type { Clock, SessionSummary } from '../contracts/index.js';
import type { HostInspection } from '../host/inspection.js';
import { systemClock } from '../kernel/clock.js';

const LEAST_MS = 1_000;
const MOST_MS = 30_000;
/** A look that took so long is followed by that many times as long without one. */
const REST = 30;

/**
 * The same look into a host, told also of what others do to its store: sessions that another process begins, goes on
 * with, takes back or deletes. It is looked for about once a second as long as somebody listens, more rarely where the
 * store is slow or holds many sessions.
 */
export function watchingStore(inspection: HostInspection, clock: Clock = systemClock): HostInspection {
  const listeners = new Set<(sessionId: string) => void>();
  let ends: (() => void) | undefined;

  const tell = (sessionId: string) => {
    for (const listener of listeners) listener(sessionId);
  };

  /** Returns what ends it. */
  const begin = () => {
    let isOver = false;
    let callOff = () => {};
    let known: ReadonlyMap<string, string> = new Map();
    const look = async () => {
      const began = clock.now();
      const found = await Promise.resolve(inspection.host.list()).catch(() => undefined);
      if (isOver) return;
      if (found !== undefined) {
        const now = new Map(found.map((summary) => [summary.id, markOf(summary)]));
        const before = known;
        known = now;
        // Of what is open here all is told already. The first look tells of all: some of it may be news by then.
        const open = new Set(inspection.open().map(({ sessionId }) => sessionId));
        for (const id of changesOf(before, now)) if (!open.has(id)) tell(id);
      }
      const restMs = Math.min(MOST_MS, Math.max(LEAST_MS, (clock.now() - began) * REST));
      callOff = clock.schedule(() => void look(), restMs);
    };
    void look();
    return () => {
      isOver = true;
      callOff();
    };
  };

  return {
    ...inspection,
    onChange(listener) {
      const off = inspection.onChange(listener);
      const hear = (sessionId: string) => listener(sessionId);
      listeners.add(hear);
      ends ??= begin();
      return () => {
        off();
        listeners.delete(hear);
        if (listeners.size > 0) return;
        ends?.();
        ends = undefined;
      };
    },
  };
}

const markOf = ({ lastUpdateTime, eventCount, title }: SessionSummary): string =>
  `${lastUpdateTime} ${eventCount} ${title ?? ''}`;

function changesOf(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const changed = [...now].flatMap(([id, mark]) => (before.get(id) === mark ? [] : [id]));
  return [...changed, ...[...before.keys()].filter((id) => !now.has(id))];
}
