import { type ReactNode, useEffect, useState } from 'react';
import { FaultBoundary } from './fault-boundary.js';
import { HelpDialog } from './help-dialog.js';
import { Inbox, inboxOf } from './inbox.js';
import { VIEWS } from './route.js';
import { step } from './scrubber.js';
import { SessionView } from './session-view.js';
import { SessionsPanel } from './sessions-panel.js';
import { StartDialog } from './start-dialog.js';
import { useFeed, useNow, useOverview } from './use-feed.js';
import { useRoute } from './use-route.js';

/** The whole page. */
export function App(): ReactNode {
  const [route, go] = useRoute();
  const { overview, isConnected } = useOverview();
  const feed = useFeed(route.host, route.session);
  const now = useNow(30_000);
  const [dialog, setDialog] = useState<'start' | 'help'>();
  const [inboxWish, setInboxWish] = useState<boolean>();
  const inbox = inboxOf(overview);
  const hosts = overview?.hosts ?? [];
  // Questions bring it up by themselves.
  const isInboxShown = inboxWish ?? inbox.length > 0;

  useEffect(() => {
    document.title = inbox.length > 0 ? `(${inbox.length}) Troupe Studio` : 'Troupe Studio';
  }, [inbox.length]);

  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const { target } = event;
      const isTyping =
        target instanceof HTMLInputElement ||
        target instanceof HTMLTextAreaElement ||
        target instanceof HTMLSelectElement;
      if (isTyping && event.key === 'Escape') target.blur();
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || dialog !== undefined) return;
      const view = VIEWS[Number(event.key) - 1];
      if (event.key === '/') document.getElementById('filter')?.focus();
      else if (event.key === '?') setDialog('help');
      else if (event.key === 'n') setDialog('start');
      else if (event.key === 'i') setInboxWish(!isInboxShown);
      else if (event.key === 'Escape') go({ seq: undefined });
      else if ((event.key === '[' || event.key === ']') && feed !== undefined)
        go({ seq: step(feed, route.seq ?? feed.segments.lastSeq, event.key === '[' ? -1 : 1) });
      else if (view !== undefined) go({ view });
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  });

  const open = (host: string, session: string) => go({ host, session, thread: '', seq: undefined, other: undefined });
  return (
    <div className={`page${isInboxShown ? ' has-inbox' : ''}`}>
      <header className="bar">
        <span className="brand">
          <span className="brand-mark" aria-hidden="true" /> Troupe Studio
        </span>
        {!isConnected && (
          <span className="badge wait" role="status">
            not connected, trying again
          </span>
        )}
        <span className="grow" />
        <button type="button" className="primary" onClick={() => setDialog('start')}>
          Start a run
        </button>
        <button type="button" id="inbox-toggle" aria-pressed={isInboxShown} onClick={() => setInboxWish(!isInboxShown)}>
          Inbox {inbox.length > 0 && <span className="count">{inbox.length}</span>}
        </button>
        <button type="button" aria-label="Help" onClick={() => setDialog('help')}>
          ?
        </button>
      </header>
      <SessionsPanel hosts={hosts} host={route.host} session={route.session} now={now} onOpen={open} />
      {feed === undefined ? (
        <main className="session-view">
          <div className="empty large">
            <h2>{overview === undefined ? 'Connecting…' : 'Choose a session, or start a run'}</h2>
            <p>
              Sessions are on the left, the newest first. What they ask you shows up in the inbox. Press <kbd>?</kbd>{' '}
              for the keys.
            </p>
          </div>
        </main>
      ) : (
        <FaultBoundary what="This session" place={`${feed.host} ${feed.session} ${route.thread} ${route.seq}`}>
          <SessionView key={`${feed.host} ${feed.session}`} feed={feed} route={route} hosts={hosts} go={go} />
        </FaultBoundary>
      )}
      {isInboxShown && (
        <Inbox
          items={inbox}
          onOpen={({ host, session, threadId }) => go({ host, session, thread: threadId, seq: undefined })}
        />
      )}
      {dialog === 'help' && <HelpDialog onClose={() => setDialog(undefined)} />}
      {dialog === 'start' && (
        <StartDialog
          hosts={hosts}
          onClose={() => setDialog(undefined)}
          onStarted={(host, session) => {
            setDialog(undefined);
            open(host, session);
          }}
        />
      )}
    </div>
  );
}
