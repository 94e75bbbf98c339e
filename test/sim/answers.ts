import type { AgentEvent, ElicitationAnswer } from '../../src/contracts/index.js';
import { type Run, TroupeError } from '../../src/index.js';
import type { World } from './world.js';

/** Calls that are open, by their id, as the consumer has seen. */
export type Answers = Map<string, string>;

/** The person at the consumer: answers what is asked, sometime, one way or the other. */
export function answerLater(world: World, run: Run, event: AgentEvent, open: Answers): void {
  if (event.type === 'tool_request') open.set(event.requestId, event.name);
  if (event.type === 'tool_response') open.delete(event.requestId);
  if (event.type === 'custom' && event.kind === 'tool_pending') {
    return give(world, run, (event.data as { requestId: string }).requestId, { result: 'the job is done' });
  }
  if (event.type !== 'elicitation_request') return;
  const { requestId, kind } = event;
  give(world, run, requestId, answerTo(world, kind));
}

/** Calls that were left open before the process began are answered by somebody, too. */
export function answerOpen(world: World, run: Run): void {
  for (const { kind, requestId } of run.state().pending) {
    if (kind === 'tool') give(world, run, requestId, { result: 'the job is done' });
  }
}

function give(world: World, run: Run, requestId: string, answer: Parameters<Run['respond']>[1]): void {
  world.later(world.pick.of([0, 0, 1, 10, 100, 5_000]), () => {
    world.trace(`answer ${requestId} ${JSON.stringify(answer)}`);
    try {
      run.respond(requestId, answer);
    } catch (thrown) {
      const code = thrown instanceof TroupeError ? thrown.code : String(thrown);
      world.trace(`  refused: ${code}`);
      // It was withdrawn meanwhile.
      if (code !== 'UNKNOWN_REQUEST') world.shared.problems.push(`the answer to ${requestId} was refused: ${code}`);
    }
  });
}

function answerTo({ pick }: World, kind: string): ElicitationAnswer {
  const action = pick.of(['accept', 'accept', 'accept', 'accept', 'decline', 'cancel'] as const);
  if (action !== 'accept' || kind !== 'tool_recovery') return { action };
  const outcome = pick.of(['run_again', 'result', 'failed']);
  return { action, content: { outcome, ...(outcome === 'result' && { result: 'it was done' }) } };
}
