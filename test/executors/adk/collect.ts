import type { AgentEvent } from '../../../src/contracts/index.js';

/** All events of a run; `see` is shown each as it comes. */
export async function collect(
  run: AsyncIterable<AgentEvent>,
  see: (event: AgentEvent) => void = () => {},
): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of run) {
    events.push(event);
    see(event);
  }
  return events;
}
