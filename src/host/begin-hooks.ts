import type { ContentPart, HookResult } from '../contracts/index.js';
import { textOf, toParts } from '../kernel/content.js';
import { describeError } from '../kernel/errors.js';
import { isDefaultInputSchema } from '../kernel/schema.js';
import { endRun } from './end-run.js';
import { tellHooks } from './fire-hook.js';
import { hooksOf, treeHooksOf } from './hook-state.js';
import { noteText } from './last-text.js';
import { checkOutput } from './output.js';
import { askAbout, copyOf } from './run-hooks.js';
import { admitInput, publishInput } from './run-start.js';
import { enter, leave, publish } from './session-tree.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';

interface Opening {
  readonly messageId: string;
  readonly role: 'user' | 'developer';
}

/** Points that are asked before a run, by whether only its root is. */
const ROOT_POINTS = ['session_start', 'on_user_message', 'before_run'];

/** Begins a run: what hooks say of the session, of its message and of the agent comes before its first turn. */
export function beginWithHooks(
  thread: Thread,
  opening: Opening,
  reviewSteers: (thread: Thread) => undefined | Promise<void>,
): void {
  const run = thread.run as RunRecord;
  const { hookPoints } = thread.tree.host;
  const content = contentOf(run);
  const hooks = hooksOf(run);
  if (hookPoints.has('after_agent')) hooks.prompt = content;
  const isRoot = thread.parent === undefined;
  if (isRoot) treeHooksOf(thread).hasBegun = true;
  const reviewing = reviewSteers(thread);
  const isAsked = hookPoints.has('before_agent') || (isRoot && ROOT_POINTS.some((point) => hookPoints.has(point)));
  if (!isAsked && reviewing === undefined) {
    publishInput(thread, { ...opening, content });
    tellContext(thread, run, []);
    thread.actor.send({ type: 'session.message' });
    return;
  }
  enter(thread.tree);
  void new Beginning(thread, run, opening).go(reviewing).finally(() => leave(thread.tree));
}

const leaveIt = () => {};

class Beginning {
  /** What is shown once its message is out. */
  readonly #untold: (() => void)[] = [];
  readonly #context: string[] = [];

  constructor(
    private readonly thread: Thread,
    private readonly run: RunRecord,
    private readonly opening: Opening,
  ) {}

  async go(reviewing: undefined | Promise<void>): Promise<void> {
    const { thread, run } = this;
    const hooks = hooksOf(run);
    // Whoever stops the run meanwhile leaves its end to what follows.
    hooks.cutWait = leaveIt;
    await reviewing;
    const refusal = thread.parent === undefined ? await this.#openSession() : undefined;
    if (thread.run !== run) return;
    publishInput(thread, { ...this.opening, content: contentOf(run) });
    for (const tell of this.#untold) tell();
    const outcome = refusal ?? (await askAgent(thread, run, this.#context));
    if (thread.run !== run) return;
    hooks.cutWait = undefined;
    if (run.stop !== undefined) return endRun(thread, run.stop);
    if (outcome === undefined) {
      tellContext(thread, run, this.#context);
      thread.actor.send({ type: 'session.message' });
    } else if ('blocked' in outcome) refuse(thread, outcome.blocked);
    else await answer(thread, run, outcome.response);
  }

  /** `session_start`, then `on_user_message`: both before the message is said. */
  async #openSession(): Promise<{ blocked: HookResult } | undefined> {
    const { thread, run, opening } = this;
    const session = treeHooksOf(thread);
    const keep = (_: Thread, point: string, result: HookResult) => {
      this.#untold.push(() => tellHooks(thread, point, result));
      return result;
    };
    if (session.source !== undefined) {
      const { source } = session;
      session.source = undefined;
      const said = await askAbout(thread, run, 'session_start', { source }, keep);
      const block = blockIn(said);
      if (block !== undefined) return block;
      const context = contextIn(said);
      if (context !== undefined && thread.agent.behaviour !== 'turn') session.context = context;
      else if (context !== undefined) this.#context.push(context);
    }
    if (opening.role !== 'user') return undefined;
    const said = await askAbout(thread, run, 'on_user_message', { content: copyOf(contentOf(run)) }, keep);
    const block = blockIn(said);
    if (block !== undefined) return block;
    const content = said?.modifications?.content as ContentPart[] | undefined;
    return content === undefined ? undefined : takeContent(thread, run, content);
  }
}

/** `before_run` for the root, `before_agent` for every thread. What they add for the model goes to `context`. */
export async function askAgent(
  thread: Thread,
  run: RunRecord,
  context: string[],
): Promise<{ blocked: HookResult } | { response: string } | undefined> {
  const points = thread.parent === undefined ? ['before_run', 'before_agent'] : ['before_agent'];
  for (const point of points) {
    const said = await askAbout(thread, run, point, { prompt: copyOf(contentOf(run)) });
    const block = blockIn(said);
    if (block !== undefined) return block;
    const response = said?.modifications?.response;
    if (typeof response === 'string') return { response };
    const added = contextIn(said);
    if (added !== undefined) context.push(added);
  }
  return undefined;
}

const blockIn = (said: HookResult | undefined): { blocked: HookResult } | undefined =>
  said === undefined || said.action === 'proceed' ? undefined : { blocked: said };

export function contextIn(said: HookResult | undefined): string | undefined {
  const context = said?.modifications?.additionalContext;
  return typeof context === 'string' && context !== '' ? context : undefined;
}

function contentOf(run: RunRecord): ContentPart[] {
  const [first] = run.inbox;
  return first?.kind === 'message' ? toParts(first.content) : [];
}

/** The message as a hook made it is held to what the first one was held to. */
async function takeContent(
  thread: Thread,
  run: RunRecord,
  content: ContentPart[],
): Promise<{ blocked: HookResult } | undefined> {
  const { agent } = thread;
  try {
    const given = isDefaultInputSchema(agent.descriptor.inputSchema) ? content : jsonIn(content);
    const input = await admitInput(agent, given);
    run.input = input.value;
    run.inputText = textOf(input.content);
    run.inbox = [{ kind: 'message', content: input.content, input: input.value }];
    if (run.hooks?.prompt !== undefined) run.hooks.prompt = input.content;
    return undefined;
  } catch (thrown) {
    const reason = `the message that a hook put in place of the user's: ${describeError(thrown).message}`;
    return { blocked: { action: 'block', reason } };
  }
}

function jsonIn(content: ContentPart[]): unknown {
  try {
    return JSON.parse(textOf(content));
  } catch {
    return content;
  }
}

const refuse = (thread: Thread, said: HookResult): void => endRun(thread, refusalOf(thread, said));

/** The end of a run that a hook blocks; its error is published. */
export function refusalOf(thread: Thread, { reason }: HookResult): RunEnd {
  const message = reason ?? 'a hook blocked the run';
  publish(thread, { type: 'error', code: 'HOOK_BLOCKED', message, fatal: false });
  return { reason: 'failed', data: { code: 'HOOK_BLOCKED', message } };
}

/** A hook answers in the agent's place; nothing of the agent runs, and no `after_agent` hook is asked. */
async function answer(thread: Thread, run: RunRecord, response: string): Promise<void> {
  const end = await answerOf(thread, run, response);
  if (thread.run === run) endRun(thread, run.stop ?? end);
}

/** The end of a run that a hook has answered; the answer is published. */
export async function answerOf(thread: Thread, run: RunRecord, response: string): Promise<RunEnd> {
  const messageId = thread.tree.host.stamp.nextId();
  publish(thread, { type: 'message', messageId, role: 'agent', content: toParts(response), source: 'host' });
  thread.tree.merge.completeMessage(thread);
  noteText(run, messageId, response);
  hooksOf(run).isAnswered = true;
  const verdict = await checkOutput(thread, { reason: 'completed', data: { result: response } });
  const unfit = { code: 'OUTPUT_INVALID', message: 'what a hook answered does not fit the output schema' };
  return verdict === 'again' ? { reason: 'failed', data: unfit } : verdict;
}

/**
 * Words of hooks for the model: of its own, and of the compositions above, which hand theirs on. They are part of the
 * conversation, in the log and for whoever keeps it elsewhere.
 */
export function tellContext(thread: Thread, run: RunRecord, own: readonly string[]): void {
  if (thread.agent.behaviour !== 'turn') {
    if (own.length > 0) hooksOf(run).context = own.join('\n\n');
    return;
  }
  const all: string[] = [...own];
  for (let at = thread.parent; at !== undefined && at.agent.behaviour !== 'turn'; at = at.parent) {
    const { context } = at.run?.hooks ?? {};
    if (context !== undefined) all.unshift(context);
    if (at.parent === undefined && at.tree.hooks?.context !== undefined) all.unshift(at.tree.hooks.context);
  }
  if (all.length === 0) return;
  const text = all.join('\n\n');
  tellModel(thread, text);
  const [first] = run.inbox;
  if (first?.kind !== 'message') return;
  run.inbox[0] = { ...first, content: [...toParts(first.content), { type: 'text', text: `\n\n${text}` }] };
}

/** Publishes words of the host for a thread's model. */
export function tellModel(thread: Thread, text: string): void {
  const messageId = thread.tree.host.stamp.nextId();
  publish(thread, { type: 'message', messageId, role: 'developer', content: toParts(text), source: 'host' });
  thread.tree.merge.completeMessage(thread);
}
