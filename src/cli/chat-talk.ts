import type { AgentEvent } from '../contracts/events.js';
import type { Run, RunOptions } from '../host/types.js';
import { textOf } from '../kernel/content.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import type { ChatConsole } from './chat-console.js';
import { type ChatCommandName, chatHelp, countOf, readChatLine, seqOf } from './chat-line.js';
import { exchangesOf, positionBefore } from './chat-past.js';
import { withModelHint } from './choose-model.js';
import type { CommandIo } from './command-io.js';
import { exitCodeOf, exitCodes } from './exit-codes.js';
import { followRun } from './follow-run.js';
import { visibleLine } from './plain-text.js';
import { inputOf } from './read-prompt.js';
import { badUse } from './report-error.js';
import { assertMode, type RunCommand, type Team } from './run.js';
import { cutToWidth } from './text-width.js';
import { plural } from './tree-figures.js';

export interface ChatCommand extends Omit<RunCommand, 'prompt' | 'resume'> {
  /** A stored session to go on with. */
  session?: string | undefined;
}

interface ChatOptions {
  team: Team;
  command: ChatCommand;
  io: CommandIo;
  desk: ChatConsole;
}

/** Takes lines until there are no more, or somebody leaves. */
export function createChat({ team, command, io, desk }: ChatOptions): {
  talk(): Promise<number>;
  /** Once the run that is on has ended. */
  leave(): void;
} {
  const { host, definition, follow } = team;
  const { signals } = follow;
  let sessionId = command.session;
  let { permissionMode: mode, model } = team.options as { permissionMode?: string; model?: string };
  let modeBefore = 'default';
  let code: number = exitCodes.completed;
  let isLeaving = false;
  let run: Run | undefined;
  /** Lines that are next. */
  const next: string[] = [];
  /** Words for the run that have not taken effect yet. */
  let steered: string[] = [];

  const optionsNow = (): RunOptions => ({
    ...team.options,
    ...(mode !== undefined && { permissionMode: mode }),
    ...(model !== undefined && { model }),
  });

  const onEvent = (event: AgentEvent): void => {
    if (event.type === 'message') {
      if (event._meta?.steered !== true) return;
      const at = steered.indexOf(textOf(event.content));
      if (at >= 0) steered.splice(at, 1);
    } else if (event.threadId === undefined && event.type === 'initialize') {
      ({ sessionId } = event);
      const started = event._meta?.permissionMode;
      if (typeof started === 'string') mode = started;
    } else if (event.threadId === undefined && event.type === 'session_update') {
      mode = event.permissionMode ?? mode;
      model = event.model ?? model;
    }
  };

  /** Shows a run to its end; what is typed meanwhile goes to it. */
  const show = async (started: Run, isOver?: 'skip'): Promise<void> => {
    run = started;
    steered = [];
    signals.stopRun = () => started.abort('interrupted');
    desk.onLine = whileRunning;
    desk.onInterrupt = () => signals.raise();
    let events = 0;
    try {
      const result = await followRun(started, command, io, {
        ...follow,
        progressOf: desk.progressOf,
        onEvent(event) {
          events++;
          onEvent(event);
        },
        showsResult: () => events > 0 || isOver === undefined,
      });
      if (events > 0) code = exitCodeOf(result.reason);
      if (events > 0 && !result.ok && !desk.isLive) isLeaving = true;
    } finally {
      run = undefined;
      signals.stopRun = undefined;
      desk.onLine = undefined;
      // Came after the last call that could have heard it.
      if (!isLeaving) next.push(...steered);
    }
  };

  /** What is wrong is said to whoever types; a script ends with it. */
  const attempt = async (act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (thrown) {
      const hinted = withModelHint(thrown, { isScripted: team.isScripted });
      if (!desk.isLive || !(hinted instanceof TroupeError)) throw hinted;
      desk.say(hinted.message);
    }
  };

  const say = (text: string) =>
    attempt(() =>
      show(
        host.run(definition, inputOf(text, definition.descriptor), {
          ...optionsNow(),
          ...(sessionId !== undefined && { sessionId }),
        }),
      ),
    );

  /** Goes on with a run that the log of the session breaks off in, if there is one. */
  const takeUp = async (): Promise<void> => {
    if (sessionId === undefined) return;
    try {
      await show(await host.resume(sessionId, { ...optionsNow(), agent: definition }), 'skip');
    } catch (thrown) {
      // Nothing was begun: its first message does that.
      if (!(thrown instanceof TroupeError) || thrown.code !== 'SESSION_STALE') throw thrown;
    }
  };

  const setMode = (wanted: string): void => {
    assertMode(wanted);
    run?.update({ permissionMode: wanted });
    if (mode !== 'plan') modeBefore = mode ?? 'default';
    mode = wanted;
    desk.say(`the permission mode is ${mode}`);
  };

  const setModel = (wanted: string): void => {
    if (wanted === '') return desk.say(model === undefined ? 'each agent has its own model' : `the model is ${model}`);
    run?.update({ model: wanted });
    model = wanted;
    desk.say(`the model is ${model}`);
  };

  const fork = async (rest: string): Promise<void> => {
    const from = begun('forked');
    const forked = await host.fork(from, rest === '' ? {} : { at: seqOf(rest) });
    ({ sessionId } = forked);
    desk.say(`goes on in ${sessionId}, a fork of ${from} at ${forked.at}`);
    await takeUp();
  };

  const rewind = async (rest: string): Promise<void> => {
    const id = begun('taken back');
    const exchanges = await exchangesOf(host.attach(id));
    const [word, seq = ''] = rest.split(' ');
    const to = word === 'to' ? seqOf(seq) : positionBefore(exchanges, countOf(rest));
    const words = exchanges.filter((one) => one.seq > to).map((one) => quoted(one.text));
    const what = words.length === 0 ? `all behind ${to}` : words.join(', ');
    if (desk.isLive && !/^y(es)?$/i.test((await desk.read(`take back ${what}? [y/N] `)) ?? '')) return;
    await host.rewind(id, { to });
    // As the log says it, with the files that stay.
    for await (const event of host.attach(id, { after: to }))
      if (event.type === 'custom') desk.say(String((event.data as { text?: unknown } | undefined)?.text));
    await takeUp();
  };

  const begun = (what: string): string => {
    if (sessionId === undefined) throw badUse(`there is no session yet that could be ${what}: say something first`);
    return sessionId;
  };

  const commands: Record<ChatCommandName, (rest: string) => void | Promise<void>> = {
    plan: () => setMode(mode === 'plan' ? modeBefore : 'plan'),
    mode: (rest) => (rest === '' ? desk.say(`the permission mode is ${mode ?? 'default'}`) : setMode(rest)),
    model: setModel,
    fork,
    rewind,
    help: () => desk.say(chatHelp.join('\n')),
    exit() {
      isLeaving = true;
      run?.abort('the chat was left');
    },
  };

  const whileRunning = (line: string): void => {
    const said = readChatLine(line);
    try {
      if (said.kind === 'message') {
        run?.steer({ message: said.text });
        steered.push(said.text);
      } else if (said.kind === 'unknown') desk.say(unknown(said.name));
      else if (said.kind === 'command') {
        if (said.name === 'fork' || said.name === 'rewind')
          desk.say(`/${said.name} waits for the end of the run: Ctrl-C stops it`);
        else void commands[said.name](said.rest);
      }
    } catch (thrown) {
      // It has ended a moment ago: then the line is the next one.
      if (thrown instanceof TroupeError && thrown.code === 'SESSION_ENDED') next.push(line);
      else desk.say(describeError(thrown).message);
    }
  };

  const take = async (line: string): Promise<void> => {
    const said = readChatLine(line);
    if (said.kind === 'message') await say(said.text);
    else if (said.kind === 'command') await attempt(async () => commands[said.name](said.rest));
    else if (said.kind === 'unknown')
      await attempt(async () => {
        throw badUse(unknown(said.name));
      });
  };

  const welcome = async (): Promise<string> => {
    const help = `${definition.name}: /help says what there is besides talking`;
    if (sessionId === undefined) return help;
    const exchanges = await exchangesOf(host.attach(sessionId));
    const last = exchanges.at(-1);
    const past = `goes on with ${sessionId}: ${plural(exchanges.length, 'exchange')}`;
    return `${past}${last === undefined ? '' : `, the last ${quoted(last.text)}`}\n${help}`;
  };

  return {
    leave() {
      isLeaving = true;
    },
    async talk() {
      await takeUp();
      if (desk.isLive) desk.say(await welcome());
      while (!isLeaving) {
        const line = next.shift() ?? (await desk.read(mode === undefined || mode === 'default' ? '› ' : `${mode} › `));
        if (line === undefined) break;
        await take(line);
      }
      if (desk.isLive && sessionId !== undefined && command.ephemeral !== true)
        desk.say(`troupe chat ${command.file} --session ${sessionId} goes on with this`);
      return desk.wasInterrupted ? exitCodes.aborted : code;
    },
  };
}

const quoted = (text: string) => `“${cutToWidth(visibleLine(text), 60)}”`;

const unknown = (name: string) => `there is no /${name}: /help says what there is; a line that begins with // is said`;
