import type { ReactNode } from 'react';
import type { AgentFigures } from '../../kernel/run-model.js';
import type { HostOverview } from '../wire.js';
import { oneLine } from './clipped.js';
import { costText, countText, durationText } from './figures.js';
import type { Route } from './route.js';
import type { SessionFeed } from './session-feed.js';
import { TranscriptView } from './transcript-view.js';
import { useFeed, useFeedVersion } from './use-feed.js';

export interface CompareViewProps {
  readonly feed: SessionFeed;
  readonly hosts: readonly HostOverview[];
  readonly route: Route;
  readonly threadId: string;
  readonly go: (change: Partial<Route>) => void;
}

const MOST = 300;

/** Two sessions side by side: what each agent came to, and what the same thread said. */
export function CompareView({ feed, hosts, route, threadId, go }: CompareViewProps): ReactNode {
  const { other, seq } = route;
  const second = useFeed(other?.host, other?.session);
  useFeedVersion(feed);
  useFeedVersion(second);
  const choices = hosts.flatMap(({ id, name, sessions }) =>
    sessions
      .filter((session) => id !== feed.host || session.id !== feed.session)
      .slice(0, MOST)
      .map((session) => ({
        value: JSON.stringify([id, session.id]),
        label: `${session.title ?? session.agentName} · ${session.id.slice(0, 8)}${hosts.length > 1 ? ` · ${name}` : ''}${session.forkedFrom?.id === feed.session ? ' · fork of this one' : ''}`,
      })),
  );
  return (
    <div className="compare">
      <div className="view-tools">
        <label>
          Compare with{' '}
          <select
            value={other === undefined ? '' : JSON.stringify([other.host, other.session])}
            onChange={({ target }) => {
              if (target.value === '') return go({ other: undefined });
              const [host = '', session = ''] = JSON.parse(target.value) as string[];
              go({ other: { host, session } });
            }}
          >
            <option value="">Choose a session…</option>
            {choices.map(({ value, label }) => (
              <option key={value} value={value}>
                {oneLine(label, 120)}
              </option>
            ))}
          </select>
        </label>
        {choices.length === 0 && <span className="quiet">There is no other session yet: fork this one.</span>}
      </div>
      {second === undefined ? (
        <p className="empty">Choose another session to see both side by side: agents, figures and what they said.</p>
      ) : second.state === 'failed' && second.model.threadCount === 0 ? (
        <p className="empty">{oneLine(second.fault ?? '', 300)}</p>
      ) : (
        <>
          <Figures first={feed} second={second} />
          <div className="compare-sides">
            <TranscriptView feed={feed} threadId={threadId} seq={seq} onThread={(thread) => go({ thread })} />
            <TranscriptView feed={second} threadId={threadId} seq={undefined} onThread={(thread) => go({ thread })} />
          </div>
        </>
      )}
    </div>
  );
}

function Figures({ first, second }: { readonly first: SessionFeed; readonly second: SessionFeed }): ReactNode {
  const names = [...new Set([...Object.keys(first.model.agents), ...Object.keys(second.model.agents)])].slice(0, 200);
  const of = (feed: SessionFeed, name: string) =>
    Object.hasOwn(feed.model.agents, name) ? feed.model.agents[name] : undefined;
  return (
    <div className="compare-figures">
      <table>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">This one</th>
            <th scope="col">The other</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">whole run</th>
            <td>{runText(first)}</td>
            <td>{runText(second)}</td>
          </tr>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row">{oneLine(name, 60)}</th>
              <td>{agentText(of(first, name))}</td>
              <td>{agentText(of(second, name))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function runText({ model }: SessionFeed): string {
  const { totals, reason, firstAt, lastAt, threadCount } = model;
  const took = durationText(Date.parse(lastAt ?? '') - Date.parse(firstAt ?? ''));
  return [oneLine(reason ?? 'running', 40), `${threadCount} threads`, ...spentText(totals), took].join(' · ');
}

function agentText(figures: AgentFigures | undefined): string {
  if (figures === undefined) return 'has not run';
  const { runs, completed, failed, stopped, usage, ms } = figures;
  const parts = [
    `${runs} ×`,
    ...(completed > 0 ? [`${completed} completed`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(stopped > 0 ? [`${stopped} stopped`] : []),
    ...spentText(usage),
    durationText(ms),
  ];
  return parts.join(' · ');
}

/** What was spent, as far as something was. */
function spentText(usage: AgentFigures['usage']): string[] {
  const tokens = usage.inputTokens + usage.outputTokens;
  const cost = costText(usage);
  return [...(tokens > 0 ? [`${countText(tokens)} tokens`] : []), ...(cost === '–' ? [] : [cost])];
}
