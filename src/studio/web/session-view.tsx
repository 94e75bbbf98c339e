import type { ReactNode } from 'react';
import type { HostOverview } from '../wire.js';
import { oneLine } from './clipped.js';
import { CompareView } from './compare-view.js';
import { ControlBar } from './control-bar.js';
import { FaultBoundary } from './fault-boundary.js';
import { costText, countText, durationText } from './figures.js';
import type { Route, View } from './route.js';
import { Scrubber } from './scrubber.js';
import type { SessionFeed } from './session-feed.js';
import { StatechartView } from './statechart-view.js';
import { TeamView } from './team-view.js';
import { TimelineView } from './timeline-view.js';
import { TranscriptView } from './transcript-view.js';
import { TreeView } from './tree-view.js';
import { useNow, useRun } from './use-feed.js';

const TABS: readonly { readonly view: View; readonly name: string }[] = [
  { view: 'transcript', name: 'Transcript' },
  { view: 'statechart', name: 'Statechart' },
  { view: 'team', name: 'Team' },
  { view: 'timeline', name: 'Timeline' },
  { view: 'compare', name: 'Compare' },
];

export interface SessionViewProps {
  readonly feed: SessionFeed;
  readonly route: Route;
  readonly hosts: readonly HostOverview[];
  readonly go: (change: Partial<Route>) => void;
}

/** One session: its threads, and one of them from the side that was chosen. */
export function SessionView({ feed, route, hosts, go }: SessionViewProps): ReactNode {
  const { seq, view } = route;
  const host = hosts.find(({ id }) => id === feed.host);
  const run = useRun(feed, seq);
  const model = run ?? feed.model;
  const clock = useNow(1_000);
  const listed = host?.sessions.find(({ id }) => id === feed.session);
  const isRunning = listed?.isRunning ?? (model.reason === undefined && model.threadCount > 0);
  // What has broken off, or goes on elsewhere, has taken as long as its log tells.
  const last = Date.parse(model.lastAt ?? '');
  const now = seq === undefined && model.reason === undefined && isRunning ? Math.max(clock, last || 0) : last;
  const can = host?.can ?? [];
  const threadId = model.threads[route.thread] === undefined ? '' : route.thread;
  const onThread = (thread: string) => go({ thread });
  if (feed.state === 'failed' && model.threadCount === 0)
    return (
      <main className="session-view">
        <div className="empty large" role="alert">
          <h2>This session cannot be shown</h2>
          <p>{oneLine(feed.fault ?? '', 500)}</p>
          <p>Choose another one on the left, or load the page again.</p>
        </div>
      </main>
    );
  return (
    <main className="session-view">
      <header className="session-head">
        <h1>{oneLine(listed?.title ?? listed?.agentName ?? model.threads['']?.agentName ?? '…', 100)}</h1>
        <code className="quiet">{feed.session}</code>
        {hosts.length > 1 && host !== undefined && <span className="badge">{oneLine(host.name, 60)}</span>}
        <Totals model={model} now={now} isRunning={isRunning} />
        {feed.state === 'lost' && <span className="badge wait">connection lost, trying again</span>}
        {feed.state === 'loading' && <span className="badge">loading</span>}
        {run === undefined && <span className="badge">fetching that moment</span>}
      </header>
      {feed.plan !== undefined && feed.plan.gaps.length > 0 && (
        <details className="gaps" role="alert">
          <summary>Some of the log cannot be read: what is here is shown as far as it goes</summary>
          <ul>
            {feed.plan.gaps.map((gap) => (
              <li key={`${gap.line}`}>
                after event {gap.afterSeq}:{' '}
                {gap.kind === 'torn' ? 'the last record is cut off' : `${gap.lines} lines lost`}
                {' · '}
                {oneLine(gap.reason, 200)}
              </li>
            ))}
          </ul>
        </details>
      )}
      <div className="session-body">
        <TreeView feed={feed} model={model} selected={threadId} now={now} onSelect={onThread} />
        <section className="detail">
          <div className="tabs" role="tablist" aria-label="Views">
            {TABS.map((tab) => (
              <button
                key={tab.view}
                type="button"
                role="tab"
                id={`tab-${tab.view}`}
                aria-selected={tab.view === view}
                onClick={() => go({ view: tab.view })}
              >
                {tab.name}
              </button>
            ))}
          </div>
          <div className="view" role="tabpanel" aria-labelledby={`tab-${view}`}>
            <FaultBoundary what="This view" place={`${view} ${threadId} ${seq}`}>
              {view === 'transcript' && (
                <TranscriptView
                  feed={feed}
                  threadId={threadId}
                  seq={seq}
                  onThread={onThread}
                  onSeq={(position) => go({ seq: position })}
                />
              )}
              {view === 'statechart' && <StatechartView feed={feed} model={model} threadId={threadId} seq={seq} />}
              {view === 'team' && <TeamView feed={feed} model={model} onThread={onThread} />}
              {view === 'timeline' && (
                <TimelineView feed={feed} model={model} threadId={threadId} seq={seq} now={now} onThread={onThread} />
              )}
              {view === 'compare' && (
                <CompareView feed={feed} hosts={hosts} route={route} threadId={threadId} go={go} />
              )}
            </FaultBoundary>
          </div>
        </section>
      </div>
      <ControlBar
        feed={feed}
        model={model}
        threadId={threadId}
        can={can}
        isRunning={isRunning}
        hasBrokenOff={!isRunning && feed.model.threadCount > 0 && isSilent(feed.model, clock)}
      />
      <Scrubber
        feed={feed}
        seq={seq}
        can={can}
        isRunning={isRunning}
        onSeq={(position) => go({ seq: position })}
        onFork={(session) => go({ session, thread: '', seq: undefined })}
      />
    </main>
  );
}

/** A run that is heard of is about to be listed as one that is under way. */
const SILENT_MS = 3_000;

const isSilent = ({ reason, lastAt }: SessionFeed['model'], now: number): boolean =>
  reason === undefined && now - Date.parse(lastAt ?? '') > SILENT_MS;

interface TotalsProps {
  readonly model: SessionFeed['model'];
  readonly now: number;
  readonly isRunning: boolean;
}

function Totals({ model, now, isRunning }: TotalsProps): ReactNode {
  const { totals } = model;
  const took = now - Date.parse(model.firstAt ?? '');
  const open = model.threadCount === 0 ? '–' : isRunning ? 'running' : 'not ended';
  return (
    <dl className="totals">
      <div>
        <dt>Threads</dt>
        <dd>{model.threadCount}</dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd>{countText(totals.inputTokens + totals.outputTokens)}</dd>
      </div>
      <div>
        <dt>Cost</dt>
        <dd>{costText(totals)}</dd>
      </div>
      <div>
        <dt>Time</dt>
        <dd>{durationText(took)}</dd>
      </div>
      <div>
        <dt>State</dt>
        <dd>{model.reason === undefined ? open : oneLine(model.reason, 40)}</dd>
      </div>
    </dl>
  );
}
