import type { HostInspection } from '../host/inspection.js';
import type { Run } from '../host/types.js';
import { TroupeError } from '../kernel/errors.js';
import type { Command, CommandResult } from './wire.js';

/** Does what a page asks for. Throws, or rejects, as the host does; what is no command with `INVALID_OPTION`. */
export async function obey(command: Command, { host, ...inspection }: HostInspection): Promise<CommandResult> {
  switch (command.command) {
    case 'start': {
      const agent = inspection.agents().find(({ name }) => name === command.agent);
      if (agent === undefined) {
        const names =
          inspection
            .agents()
            .map(({ name }) => name)
            .join(', ') || 'none';
        throw new TroupeError({ code: 'UNKNOWN_AGENT', message: `no agent "${command.agent}"; known: ${names}` });
      }
      const { permissionMode } = command;
      const run = host.run(
        agent,
        textIn(command.input, 'input') as never,
        permissionMode === undefined ? {} : { permissionMode },
      );
      return started(run, inspection);
    }
    case 'message': {
      const sessionId = textIn(command.session, 'session');
      const { agentName, lastSeq } = await inspection.lookUp(sessionId);
      const agent = inspection.definitionOf(sessionId, agentName);
      if (agent === undefined)
        throw new TroupeError({
          code: 'UNKNOWN_AGENT',
          message: `this host does not know the agent "${agentName}" of the session`,
        });
      return started(host.run(agent, textIn(command.input, 'input') as never, { sessionId }), inspection, lastSeq);
    }
    case 'resume': {
      const sessionId = textIn(command.session, 'session');
      const { lastSeq } = await inspection.lookUp(sessionId);
      return started(await host.resume(sessionId), inspection, lastSeq);
    }
    case 'respond':
      inspection.respond(command.session, textIn(command.requestId, 'requestId'), command.answer);
      return { sessionId: command.session };
    case 'steer':
      inspection.steer(command.session, command.data, command.threadId);
      return { sessionId: command.session };
    case 'mode':
      inspection.update(command.session, { permissionMode: command.permissionMode });
      return { sessionId: command.session };
    case 'abort':
      inspection.abort(command.session, command.threadId, command.reason);
      return { sessionId: command.session };
    case 'fork': {
      const { at } = command;
      const { sessionId } = await host.fork(textIn(command.session, 'session'), at === undefined ? {} : { at });
      return { sessionId };
    }
    case 'rewind':
      await host.rewind(textIn(command.session, 'session'), { to: command.to });
      return { sessionId: command.session };
    default:
      throw new TroupeError({
        code: 'INVALID_OPTION',
        message: `no command "${String((command as { command?: unknown }).command)}"`,
      });
  }
}

/** Whoever started it looks on: its questions are asked as long as it runs. `after`: where the session's log ended before. */
async function started(run: Run, inspection: Pick<HostInspection, 'log'>, after = 0): Promise<CommandResult> {
  const { sessionId } = run;
  run.result.catch(() => {});
  const looking = inspection.log(sessionId, after)[Symbol.asyncIterator]();
  // A start that fails is told to who asked for it.
  const first = await looking.next();
  if (first.done) await run.result;
  void (async () => {
    for (let step = await looking.next(); !step.done; step = await looking.next());
  })().catch(() => {});
  return { sessionId };
}

function textIn(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new TroupeError({ code: 'INVALID_OPTION', message: `${name} must be a text` });
}
