import type { AgentEvent, ExecutionOptions, SessionSnapshot } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { narrowEvent } from '../kernel/narrow.js';
import type { HostCore } from './host-core.js';
import { forkSession } from './recovery/fork.js';
import { newSessionId } from './session-tree.js';

/** What a session begins as a copy of: a stored session, or a snapshot of one. */
export type SessionSource = string | SessionSnapshot;

/** Undefined: it goes on with a session, or begins one. Throws `INVALID_OPTION` for a fork of nothing. */
export function sourceOf(
  sessionRef: ExecutionOptions['sessionRef'],
  forkSession: boolean | undefined,
): SessionSource | undefined {
  if (typeof sessionRef === 'object') {
    assertSnapshot(sessionRef);
    return sessionRef;
  }
  if (forkSession !== true) return undefined;
  if (sessionRef !== undefined) return sessionRef;
  throw new TroupeError({ code: 'INVALID_OPTION', message: 'forkSession needs a sessionRef: what is to be forked' });
}

function assertSnapshot(snapshot: SessionSnapshot): void {
  const { agentName, events } = snapshot;
  const broken = Array.isArray(events)
    ? events.map((event) => narrowEvent(event)).find(({ kind }) => kind === 'invalid')
    : undefined;
  if (typeof agentName === 'string' && Array.isArray(events) && events.length > 0 && broken === undefined) return;
  const why = broken?.kind === 'invalid' ? `: an event of it is none: ${broken.reason}` : '';
  throw new TroupeError({
    code: 'INVALID_OPTION',
    message: `sessionRef must be the id of a session, or a snapshot as a handle's snapshot() gives it${why}`,
  });
}

/** Makes a session of its own from the source, which does not change. Rejects as the store does. */
export async function copySource(host: HostCore, source: SessionSource, userId: string | undefined): Promise<string> {
  if (typeof source === 'string') return (await forkSession(host, source, { userId })).sessionId;
  const id = newSessionId();
  const handle = await host.store.create(source.agentName, { id, appName: host.appName, userId: userId ?? 'local' });
  try {
    for (const event of source.events as AgentEvent[]) await handle.append(event);
  } finally {
    await handle.close();
  }
  return id;
}
