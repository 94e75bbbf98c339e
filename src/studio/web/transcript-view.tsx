import { memo, type ReactNode, useMemo, useRef } from 'react';
import type { LogGap } from '../../contracts/index.js';
import { oneLine } from './clipped.js';
import { ContentView } from './content-view.js';
import { clockText, durationText, standingOf } from './figures.js';
import type { SessionFeed } from './session-feed.js';
import { JsonView, More, TextView } from './text-view.js';
import { isToldIn, Transcript, type TranscriptItem } from './transcript.js';
import { useFeedVersion } from './use-feed.js';
import { VirtualList } from './virtual-list.js';

export interface TranscriptViewProps {
  readonly feed: SessionFeed;
  readonly threadId: string;
  /** A moment of the past. */
  readonly seq: number | undefined;
  readonly onThread: (threadId: string) => void;
  /** Shows the run as it was at a position. */
  readonly onSeq?: (seq: number) => void;
}

/** What one thread says, does and asks, in order, as it comes. */
export function TranscriptView({ feed, threadId, seq, onThread, onSeq }: TranscriptViewProps): ReactNode {
  useFeedVersion(feed);
  const { items } = useTranscript(feed, threadId, seq);
  const missing = feed.segments.missingOf(threadId);
  const newest = missing[0];
  if (items.length === 0 && newest === undefined)
    return (
      <p className="empty">{seq === undefined ? 'Nothing was said here yet.' : 'Nothing was said here by then.'}</p>
    );
  return (
    <div className="transcript">
      {newest !== undefined && (
        <div className="earlier">
          <More rest="earlier events, which this page let go" onMore={() => feed.fetch(newest)} />
        </div>
      )}
      <VirtualList
        key={threadId}
        label="Transcript"
        count={items.length}
        estimate={72}
        follows={seq === undefined}
        keyOf={(index) => items[index]?.key ?? String(index)}
        row={(index) => {
          const item = items[index];
          if (item === undefined) return null;
          const lost = gapsIn(feed, items[index - 1]?.seq ?? 0, item.seq);
          const behind = index < items.length - 1 ? [] : gapsIn(feed, item.seq, Number.POSITIVE_INFINITY);
          return (
            <>
              <Gaps gaps={lost} />
              <Entry item={item} onThread={onThread} onSeq={onSeq} />
              <Gaps gaps={behind} />
            </>
          );
        }}
      />
    </div>
  );
}

/** Goes on from what it has as long as nothing but new events came. */
function useTranscript(feed: SessionFeed, threadId: string, seq: number | undefined): Transcript {
  const restored = feed.segments.segments.filter(({ events }) => events !== undefined).length;
  const oldest = feed.segments.segments.find(({ events }) => events !== undefined)?.firstSeq ?? 0;
  const kept = useRef({ transcript: new Transcript(), upTo: 0, restored: 0, oldest: 0 });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new feed, thread or moment, and what was restored, begin anew
  const begun = useMemo(
    () => ({ transcript: feed.transcriptOf(threadId, seq ?? feed.segments.lastSeq), upTo: feed.segments.lastSeq }),
    [feed, feed.generation, threadId, seq, oldest],
  );
  if (kept.current.transcript !== begun.transcript)
    kept.current = { transcript: begun.transcript, upTo: begun.upTo, restored, oldest };
  const { current } = kept;
  if (seq === undefined && current.upTo < feed.segments.lastSeq) {
    for (let at = Math.max(0, feed.segments.indexOf(current.upTo)); at < feed.segments.segments.length; at++) {
      for (const event of feed.segments.segments[at]?.events ?? [])
        if (event.seq > current.upTo && isToldIn(event, threadId)) current.transcript.add(event);
    }
    current.upTo = feed.segments.lastSeq;
  }
  return current.transcript;
}

/** Characters of what an agent was given, or got from a tool: what it says itself is what one looks for. */
const BESIDE = 1_200;

/** What cannot be read between two positions; it may have been of any thread. */
const gapsIn = ({ plan }: SessionFeed, from: number, until: number): readonly LogGap[] =>
  plan?.gaps.filter(({ afterSeq }) => afterSeq >= from && afterSeq < until) ?? [];

function Gaps({ gaps }: { readonly gaps: readonly LogGap[] }): ReactNode {
  return gaps.map((gap) => (
    <p key={gap.line} className="entry line gap">
      {gap.kind === 'torn' ? 'The log is cut off here' : 'A part of the log is lost here'}: {oneLine(gap.reason, 200)}
    </p>
  ));
}

interface EntryProps {
  readonly item: TranscriptItem;
  readonly onThread: (threadId: string) => void;
  readonly onSeq: ((seq: number) => void) | undefined;
}

const Entry = memo(function Entry({ item, onThread, onSeq }: EntryProps): ReactNode {
  switch (item.kind) {
    case 'message':
      return (
        <article className={`entry message ${item.role === 'user' ? 'is-user' : 'is-agent'}`}>
          <Head who={item.role === 'user' ? 'Input' : oneLine(item.role, 40)} item={item} onSeq={onSeq} />
          <ContentView parts={item.parts} {...(item.role === 'user' && { most: BESIDE })} />
        </article>
      );
    case 'tool':
      return <ToolEntry item={item} onSeq={onSeq} />;
    case 'question':
      return (
        <article className="entry question">
          <Head who="Question" item={item} onSeq={onSeq} />
          <TextView text={item.request.message} most={1_500} />
          <p className="quiet">
            {item.response === undefined ? 'Waits for an answer.' : `Answered: ${oneLine(item.response.action, 40)}`}
          </p>
          {item.response?.content !== undefined && <JsonView value={item.response.content} />}
        </article>
      );
    case 'child':
      return (
        <article className="entry line">
          <button type="button" className="link" onClick={() => onThread(item.threadId)}>
            ↳ {oneLine(item.agentName, 80)}
          </button>
          <span className="quiet"> began · {clockText(item.at)}</span>
        </article>
      );
    case 'end': {
      const { text, tone } = standingOf('ended', item.reason);
      return (
        <article className={`entry line end tone-${tone}`}>
          <span className="badge">{text}</span>
          <span className="quiet"> {clockText(item.at)}</span>
          {item.data !== undefined && (
            <details>
              <summary>What it came to</summary>
              <JsonView value={item.data} />
            </details>
          )}
        </article>
      );
    }
    case 'error':
      return (
        <article className="entry error">
          <Head who={oneLine(item.code, 60)} item={item} onSeq={onSeq} />
          <TextView text={item.message} most={1_500} />
        </article>
      );
    default:
      return (
        <article className={`entry line note ${item.severity === 'info' ? '' : 'warn'}`}>
          <span className="quiet">{clockText(item.at)} </span>
          {oneLine(item.text, 500)}
          {item.data !== undefined && (
            <details>
              <summary>Data</summary>
              <JsonView value={item.data} />
            </details>
          )}
        </article>
      );
  }
});

type ToolItem = Extract<TranscriptItem, { kind: 'tool' }>;
type Place = Pick<EntryProps, 'item' | 'onSeq'>;

function Head({ who, item, onSeq }: Place & { readonly who: string }): ReactNode {
  return (
    <header className="entry-head">
      <strong>{who}</strong>
      <Moment item={item} onSeq={onSeq} />
    </header>
  );
}

/** When it was, and the way there. */
function Moment({ item, onSeq, took = '' }: Place & { readonly took?: string }): ReactNode {
  const text = `${took === '' ? '' : `${took} · `}${clockText(item.at)}`;
  if (onSeq === undefined) return <span className="moment quiet">{text}</span>;
  return (
    <button
      type="button"
      className="link moment quiet"
      title={`Show the run as it was: event ${item.seq}`}
      onClick={() => onSeq(item.seq)}
    >
      {text}
    </button>
  );
}

function ToolEntry({ item, onSeq }: Place & { readonly item: ToolItem }): ReactNode {
  const { result, status } = item;
  const took = item.endedAt === undefined ? '' : durationText(Date.parse(item.endedAt) - Date.parse(item.at));
  const tone = status === 'failed' ? 'bad' : status === 'done' ? 'ok' : status === 'awaiting_approval' ? 'wait' : 'run';
  const parts = result?.displayContent ?? result?.llmContent ?? item.update;
  return (
    <article className={`entry tool tone-${tone}`}>
      <header className="entry-head">
        <strong className="code">{oneLine(item.name, 80)}</strong>
        {item.title !== undefined && <span>{oneLine(item.title, 160)}</span>}
        <span className="badge">{oneLine(status.replaceAll('_', ' '), 40)}</span>
        {item.isOpaque && <span className="badge off">own tool</span>}
        <Moment item={item} onSeq={onSeq} took={took} />
      </header>
      {item.progress !== undefined && <progress value={item.progress} max={1} aria-label="Progress" />}
      <details>
        <summary className="code">{summaryOf(item.args)}</summary>
        <JsonView value={item.args} />
      </details>
      {parts.length > 0 && (
        <div className="result">
          <ContentView parts={parts} most={BESIDE} />
        </div>
      )}
      {result?.contentLength !== undefined && (
        <p className="quiet">
          Of {result.contentLength} characters{result.outputFile === undefined ? '' : `; whole in ${result.outputFile}`}
        </p>
      )}
    </article>
  );
}

function summaryOf(args: unknown): string {
  if (typeof args !== 'object' || args === null) return 'no arguments';
  const said = Object.entries(args)
    .slice(0, 6)
    .map(
      ([key, value]) =>
        `${key.slice(0, 60)}: ${typeof value === 'object' && value !== null ? '…' : String(value).slice(0, 120)}`,
    );
  return said.length === 0 ? 'no arguments' : oneLine(said.join(', '), 160);
}
