import type { SessionHandle, SessionProvider } from '../../src/contracts/index.js';
import { memoryStore } from '../../src/stores/memory.js';

/** A store in memory that takes its time: what is appended is durable a turn of the event loop later. */
export function slowStore(): SessionProvider {
  const inner = memoryStore();
  const later = () => new Promise<void>((resolve) => setImmediate(resolve));
  const slow = (handle: SessionHandle): SessionHandle => ({
    id: handle.id,
    agentName: handle.agentName,
    get events() {
      return handle.events;
    },
    get state() {
      return handle.state;
    },
    get lastUpdateTime() {
      return handle.lastUpdateTime;
    },
    append: (event) => {
      void handle.append(event);
      return later();
    },
    snapshot: () => handle.snapshot(),
    close: () => handle.close(),
  });
  return {
    create: async (agentName, metadata) => {
      await later();
      return slow(await inner.create(agentName, metadata));
    },
    load: async (id) => slow(await inner.load(id)),
    list: (agentName, scope) => inner.list(agentName, scope),
    delete: (id) => inner.delete(id),
  };
}
