import { memoryStore } from '../stores/memory.js';
import { createPlainConsole } from './chat-console.js';
import { type ChatCommand, createChat } from './chat-talk.js';
import { createChatTerminal } from './chat-terminal.js';
import type { CommandIo } from './command-io.js';
import { badUse } from './report-error.js';
import { type RunParts, withTeam } from './run.js';

/**
 * Many exchanges with one session: lines of a terminal, or of stdin where that is none. Returns the exit code of the last
 * run, 0 where nothing ran. Without a terminal a run that did not complete ends the chat, and so does a command that
 * cannot be done (it is thrown): what comes next was meant for what did not happen.
 */
export async function chatCommand(command: ChatCommand, io: CommandIo, parts: RunParts): Promise<number> {
  if (command.session !== undefined && command.ephemeral === true)
    throw badUse('--session and --ephemeral exclude each other: give one of them');
  // Kept as long as the chat: a session that is in no store has one run only.
  const made = command.ephemeral === true ? { ...parts, openStore: () => memoryStore() } : parts;
  return withTeam(
    command,
    io,
    made,
    async () => {},
    async (team) => {
      const isTerminal = io.stdin.isTTY === true && io.stdout.isTTY && io.stderr.isTTY && io.env.TERM !== 'dumb';
      const json = command.json === true;
      const desk = isTerminal && !json ? createChatTerminal(io) : createPlainConsole(io, { json });
      const chat = createChat({ team, command, io, desk });
      // Ctrl-C is for the run alone; who ends the process means the chat.
      const handlers = (['SIGTERM', 'SIGHUP'] as const).map((name) => io.onSignal(name, chat.leave));
      try {
        return await chat.talk();
      } finally {
        for (const takeOff of handlers) takeOff();
        desk.close();
      }
    },
  );
}
