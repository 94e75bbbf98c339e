import type { ReactNode } from 'react';
import { oneLine } from './clipped.js';
import { clockText } from './figures.js';
import type { SessionFeed } from './session-feed.js';
import { useCommand } from './use-command.js';
import { useFeedVersion } from './use-feed.js';

export interface ScrubberProps {
  readonly feed: SessionFeed;
  readonly seq: number | undefined;
  readonly can: readonly string[];
  readonly isRunning: boolean;
  readonly onSeq: (seq: number | undefined) => void;
  readonly onFork: (session: string) => void;
}

/** Goes through the positions of a log: the whole page shows the run as it was. Forks and rewinds from there. */
export function Scrubber({ feed, seq, can, isRunning, onSeq, onFork }: ScrubberProps): ReactNode {
  useFeedVersion(feed);
  const { send, fault, isBusy } = useCommand();
  const { host, session } = feed;
  const last = feed.segments.lastSeq;
  const first = Math.min(feed.segments.firstSeq, last);
  const at = Math.min(seq ?? last, last);
  const event = feed.eventAt(at);
  const fork = async () => {
    const done = await send({ host, command: 'fork', session, ...(seq === undefined ? {} : { at }) });
    if (done !== undefined) onFork(done.sessionId);
  };
  const rewind = async () => {
    if (!confirm(`Take the session back to event ${at}? What came after is kept in an archive only.`)) return;
    const done = await send({ host, command: 'rewind', session, to: at });
    if (done !== undefined) onSeq(undefined);
  };
  return (
    <footer className={`scrubber${seq === undefined ? '' : ' is-past'}`}>
      <button
        type="button"
        aria-label="One event back"
        disabled={at <= first}
        onClick={() => onSeq(step(feed, at, -1))}
      >
        ◂
      </button>
      <input
        type="range"
        aria-label="Position in the log"
        aria-valuetext={`event ${at} of ${last}`}
        min={first}
        max={Math.max(last, first)}
        value={at}
        onChange={({ target }) => onSeq(Number(target.value) >= last ? undefined : Number(target.value))}
      />
      <button
        type="button"
        aria-label="One event on"
        disabled={seq === undefined}
        onClick={() => onSeq(step(feed, at, 1))}
      >
        ▸
      </button>
      <span className="where">
        <span className="num">
          {at} / {last}
        </span>
        <span className="quiet">
          {event === undefined ? '' : `${clockText(event.timestamp)} ${oneLine(event.type.replaceAll('_', ' '), 40)}`}
        </span>
      </span>
      <button type="button" className={seq === undefined ? 'is-now' : 'primary'} onClick={() => onSeq(undefined)}>
        {seq === undefined ? (isRunning ? 'Live' : 'Now') : 'Back to now'}
      </button>
      {can.includes('fork') && (
        <button type="button" disabled={isBusy} onClick={() => void fork()}>
          Fork here
        </button>
      )}
      {can.includes('rewind') && !isRunning && seq !== undefined && (
        <button type="button" className="danger" disabled={isBusy} onClick={() => void rewind()}>
          Rewind to here
        </button>
      )}
      {fault !== undefined && (
        <span className="fault" role="alert">
          {oneLine(fault, 400)}
        </span>
      )}
    </footer>
  );
}

/** The position of the event before or after; undefined: now. */
export function step(feed: SessionFeed, at: number, by: 1 | -1): number | undefined {
  const { segments } = feed.segments;
  const index = feed.segments.indexOf(at);
  const events = segments[index]?.events;
  if (events === undefined) return at + by;
  if (by < 0) {
    const before = events.findLast(({ seq }) => seq < at);
    return before?.seq ?? segments[index - 1]?.lastSeq ?? at;
  }
  const next = events.find(({ seq }) => seq > at)?.seq ?? segments[index + 1]?.firstSeq;
  return next === undefined || next >= feed.segments.lastSeq ? undefined : next;
}
