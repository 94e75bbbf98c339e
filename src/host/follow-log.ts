import type { AgentEvent, SessionHandle } from '../contracts/index.js';
import type { HostCore } from './host-core.js';

const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 500;

/**
 * What a log has, in order, and then what another process adds to it, until the run that it is in has ended or nobody
 * writes it any more. A whole message of one thread may come behind later events of others: within a thread the order
 * is strict, and nothing is left out or given twice.
 */
export async function* followLog(host: HostCore, handle: SessionHandle): AsyncGenerator<AgentEvent> {
  const given = new Set<string>();
  let isInRun = true;
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    // Asked first: what was written before somebody let go is read.
    const isWritten = (await handle.isWritten?.()) === true;
    let hasNews = false;
    for await (const event of handle.events) {
      if (given.has(event.id)) continue;
      given.add(event.id);
      hasNews = true;
      if (event.threadId === undefined) {
        if (event.type === 'stream_end') isInRun = false;
        else if (event.type === 'message') isInRun = true;
      }
      yield event;
    }
    if (!isInRun || !isWritten || host.isClosing) return;
    waitMs = hasNews ? FIRST_WAIT_MS : Math.min(waitMs * 2, LONGEST_WAIT_MS);
    await new Promise<void>((resolve) => host.clock.schedule(resolve, waitMs));
  }
}
