import { type ReactNode, useState } from 'react';
import type { HostOverview, SessionOverview } from '../wire.js';
import { oneLine } from './clipped.js';
import { agoText } from './figures.js';

const STEP = 100;

export interface SessionsPanelProps {
  readonly hosts: readonly HostOverview[];
  readonly host: string | undefined;
  readonly session: string | undefined;
  readonly now: number;
  readonly onOpen: (host: string, session: string) => void;
}

/** Sessions by host, the newest first. */
export function SessionsPanel({ hosts, host, session, now, onOpen }: SessionsPanelProps): ReactNode {
  const [filter, setFilter] = useState('');
  const [most, setMost] = useState(STEP);
  const wanted = filter.trim().toLowerCase();
  const fits = ({ id, agentName, title }: SessionOverview) =>
    `${id} ${agentName} ${title ?? ''}`.toLowerCase().includes(wanted);
  return (
    <nav className="sessions" aria-label="Sessions">
      <input
        type="search"
        placeholder="Filter sessions"
        aria-label="Filter sessions"
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
      />
      {hosts.map((one) => {
        const sessions = one.sessions.filter(fits);
        return (
          <section key={one.id}>
            <h2>{oneLine(one.name, 60)}</h2>
            <ul>
              {sessions.slice(0, most).map((each) => (
                <li key={each.id}>
                  <button
                    type="button"
                    className={`session${one.id === host && each.id === session ? ' is-selected' : ''}`}
                    aria-current={one.id === host && each.id === session ? 'page' : undefined}
                    onClick={() => onOpen(one.id, each.id)}
                    title={each.id}
                  >
                    <span className={`dot tone-${each.pending > 0 ? 'wait' : each.isRunning ? 'run' : 'off'}`} />
                    <span className="session-name">{oneLine(each.title ?? each.agentName, 80)}</span>
                    {each.pending > 0 && <span className="count">{each.pending}</span>}
                    <span className="quiet">
                      {each.isRunning ? 'running' : agoText(each.lastUpdateTime, now)}
                      {each.forkedFrom !== undefined && ' · fork'}
                    </span>
                  </button>
                </li>
              ))}
            </ul>
            {one.fault !== undefined && (
              <p className="empty fault" role="alert">
                {oneLine(one.fault, 300)}
              </p>
            )}
            {sessions.length === 0 && one.fault === undefined && (
              <p className="empty">{wanted === '' ? 'No session yet: start a run.' : 'No session is called that.'}</p>
            )}
            {sessions.length > most && (
              <button type="button" className="more" onClick={() => setMost(most + STEP)}>
                Show more: {sessions.length - most}
              </button>
            )}
          </section>
        );
      })}
    </nav>
  );
}
