import type { AgentEvent, Bag, SessionHandle } from '../../contracts/index.js';
import type { HostCore } from '../host-core.js';

/** Adds an event of the host to a log that no tree of this host writes. */
export async function appendEvent(host: HostCore, handle: SessionHandle, kind: string, data: Bag): Promise<void> {
  let lastSeq = handle.head?.reservedSeq;
  let lastTimestamp: string | undefined = handle.lastUpdateTime;
  if (lastSeq === undefined) {
    for await (const event of handle.events) {
      lastSeq = event.seq;
      lastTimestamp = event.timestamp;
    }
  }
  if (lastTimestamp !== undefined) host.stamp.notBefore(lastTimestamp);
  const event: AgentEvent<'custom'> = {
    id: host.stamp.nextId(),
    timestamp: host.stamp.timestamp(),
    seq: (lastSeq ?? 0) + 1,
    agentId: handle.agentName,
    source: 'host',
    type: 'custom',
    kind,
    data,
  };
  await handle.append(event);
}

/** What the host tells a person, in a log. */
export const appendNote = (
  host: HostCore,
  handle: SessionHandle,
  note: { code: string; severity: 'info' | 'warning'; text: string } & Bag,
): Promise<void> => appendEvent(host, handle, 'notice', note);
