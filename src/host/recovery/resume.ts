import type { AgentDefinition, AgentEvent, Bag, SessionHandle, ToolDescriptor } from '../../contracts/index.js';
import { TroupeError, throwProblems } from '../../kernel/errors.js';
import { schemaCompileFault } from '../../kernel/schema.js';
import { assertSessionId } from '../../kernel/session-id.js';
import type { HostCore } from '../host-core.js';
import { announce, begin, isOpen, prepare } from '../open-session.js';
import { resumeOptionFaults } from '../option-keys.js';
import { assertAgent, type Past, readPast } from '../recover-idle.js';
import type { CompiledAgent, RunEnd, Tree } from '../thread.js';
import type { ResumeOptions, RunOptions } from '../types.js';
import { assertUndamaged, damageIn } from './damage.js';
import { assertDefinition, type DefinitionMark, readMark } from './definition-mark.js';
import { agreeOnDefinition, publishMigrated, replaceState } from './migrate.js';
import type { ThreadPast } from './past.js';
import { givePast, resumeRun } from './rebuild.js';
import { RECOVERY_SCHEMA } from './recover-call.js';
import { createRecovery } from './recovery.js';

/** A session as `host.resume` found it: a run to go on with, or one that had ended. */
export type Resumed =
  | {
      readonly kind: 'broken';
      readonly tree: Tree;
      /** Puts everything where it was. Then it waits for `begin`. */
      rebuild(): void;
      begin(): void;
    }
  | { readonly kind: 'ended'; readonly end: RunEnd };

/**
 * Takes up a stored session where its log breaks off. Rejects with `SESSION_NOT_FOUND`, `SESSION_BUSY`,
 * `SESSION_LOCKED`, `SESSION_DAMAGED`, `DEFINITION_CHANGED`, `UNKNOWN_AGENT`, or `SESSION_STALE` where nothing was begun.
 */
export function openResumed(host: HostCore, sessionId: string, options: ResumeOptions): Promise<Resumed> {
  throwProblems(resumeOptionFaults(options), 'INVALID_OPTION');
  assertSessionId(sessionId);
  if (host.isClosing) throw new TroupeError({ code: 'HOST_CLOSED', message: 'this host is closed; make a new one' });
  if (host.opening.has(sessionId) || host.trees.has(sessionId)) throw isOpen(sessionId);
  return announce(host, sessionId, openNow(host, sessionId, options));
}

async function openNow(host: HostCore, sessionId: string, options: ResumeOptions): Promise<Resumed> {
  await host.closing.get(sessionId);
  const handle = await host.store.load(sessionId);
  if (damageIn(handle) !== undefined) {
    if (options.repair !== true || host.store.repair === undefined) {
      assertUndamaged(
        handle,
        `resume it with { repair: true }, or repair it first (troupe sessions repair ${sessionId})`,
      );
    }
    return takeDamaged(host, handle, options);
  }
  return closing(handle, () => take(host, handle, options));
}

/** The handle is closed where the session is refused. */
async function closing<T>(handle: SessionHandle, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** A log that has lost something in its middle is repaired once nothing else is in the way of going on with it. */
async function takeDamaged(host: HostCore, damaged: SessionHandle, options: ResumeOptions): Promise<Resumed> {
  const before = await closing(damaged, async () => {
    const found = await readWhole(host, damaged, options);
    // The session may be another writer's: then it is not for this one to migrate or to mend.
    if (await damaged.isWritten?.()) await damaged.lock?.();
    return { ...found, migrated: await agree(found, damaged.id, options) };
  });
  await damaged.close();
  await host.store.repair?.(damaged.id);
  const handle = await host.store.load(damaged.id);
  return closing(handle, async () => {
    await handle.lock?.();
    const { migrated } = before;
    const found = await readWhole(host, handle, options);
    if (found.past.seq !== before.past.seq) throw wasWritten(handle.id);
    if (migrated !== undefined) replaceState(found.past, migrated);
    return goOn(host, handle, { ...found, migrated });
  });
}

async function take(host: HostCore, handle: SessionHandle, options: ResumeOptions): Promise<Resumed> {
  const found = await readWhole(host, handle, options);
  if (found.past.run !== undefined) await handle.lock?.();
  return goOn(host, handle, { ...found, migrated: await agree(found, handle.id, options) });
}

/** What a log holds, and what it is gone on with; all that can be in the way has been looked at. */
interface Found {
  readonly compiled: CompiledAgent;
  readonly past: Past;
  readonly mark: DefinitionMark | undefined;
  readonly options: RunOptions;
}

/** Reads a log and checks everything that can be checked before anything is changed. */
async function readWhole(host: HostCore, handle: SessionHandle, options: ResumeOptions): Promise<Found> {
  const events: AgentEvent[] = [];
  for await (const event of handle.events) events.push(event);
  const agent = options.agent ?? host.agents.get(handle.agentName);
  if (agent === undefined) throw unknownAgent(host, handle);
  await host.toolsets?.ready(agent);
  const logged = settingsIn(events);
  const owner = handle.head?.metadata.userId;
  const runOptions = { ...runOptionsOf(options, logged), ...(owner !== undefined && { userId: owner }) };
  const compiled = prepare(host, agent as AgentDefinition, runOptions, handle.id);
  assertAgent(compiled, handle);
  if (options.migrate === undefined) assertDefinition(handle.id, logged.mark, compiled);
  const past = await readPast(compiled, handle, events);
  if (past === undefined) throw notBegun(handle.id);
  const { run } = past;
  if (run === undefined) {
    if (past.end === undefined) throw notBegun(handle.id);
  } else if (run.stranger !== undefined) {
    throw new TroupeError({
      code: 'DEFINITION_CHANGED',
      message: `session "${handle.id}" has a thread "${run.stranger}", for which "${compiled.definition.name}" has no agent`,
    });
  } else if (run.root.input === undefined) throw notBegun(handle.id);
  else await readSchemas(run.root);
  return { compiled, past, mark: logged.mark, options: runOptions };
}

/** The state that a migration made of that of a run; nothing is asked of one that has ended. */
async function agree(
  { compiled, past, mark }: Found,
  id: string,
  { migrate }: ResumeOptions,
): Promise<Bag | undefined> {
  return past.run === undefined ? undefined : agreeOnDefinition(id, compiled, { past, mark, migrate });
}

async function goOn(
  host: HostCore,
  handle: SessionHandle,
  { compiled, past, options, migrated }: Found & { migrated: Bag | undefined },
): Promise<Resumed> {
  const root = past.run?.root;
  if (root !== undefined) return rebuild(host, compiled, { handle, past, options, root, migrated });
  await handle.close();
  return { kind: 'ended', end: past.end as RunEnd };
}

function rebuild(
  host: HostCore,
  compiled: CompiledAgent,
  {
    handle,
    past,
    options,
    root,
    migrated,
  }: { handle: SessionHandle; past: Past; options: RunOptions; root: ThreadPast; migrated: Bag | undefined },
): Resumed {
  const permissionMode = options.permissionMode ?? past.permissionMode;
  const model = options.model ?? past.model;
  const tree = begin(
    host,
    compiled,
    {
      ...options,
      oneRun: true,
      ...(permissionMode !== undefined && { permissionMode }),
      ...(model !== undefined && { model }),
    },
    handle.id,
    handle,
    past,
  );
  const recovery = createRecovery();
  tree.recovery = recovery;
  givePast(tree.root, root);
  return {
    kind: 'broken',
    tree,
    rebuild() {
      if (migrated !== undefined) publishMigrated(tree.root, migrated);
      resumeRun(tree.root, root);
    },
    begin: () => recovery.begin(),
  };
}

/** What a run was given beside its agent, as its `initialize` has it. */
interface Logged {
  readonly mark: DefinitionMark | undefined;
  readonly tools: readonly ToolDescriptor[];
  readonly options: Bag;
}

function settingsIn(events: readonly AgentEvent[]): Logged {
  let mark: DefinitionMark | undefined;
  let tools: readonly ToolDescriptor[] = [];
  let options: Bag = {};
  for (const event of events) {
    if (event.threadId !== undefined) continue;
    if (event.type === 'session_update' && event.tools !== undefined && event.source === 'user') tools = event.tools;
    if (event.type !== 'initialize') continue;
    const { definition, run } = (event._meta ?? {}) as { definition?: unknown; run?: Bag };
    mark = readMark(definition) ?? mark;
    options = run ?? {};
    tools = Array.isArray(run?.tools) ? run.tools : tools;
  }
  return { mark, tools, options };
}

function runOptionsOf(given: ResumeOptions, logged: Logged): RunOptions {
  const { agent, repair, migrate: _, tools = [], ...own } = given;
  const named = new Set(tools.map(({ name }) => name));
  const kept = logged.tools.filter(({ name }) => !named.has(name));
  const { hostToolExecution, maxBudgetUsd, maxTokens, generation } = logged.options;
  const options: RunOptions = {
    ...(typeof hostToolExecution === 'boolean' && { hostToolExecution }),
    ...(typeof maxBudgetUsd === 'number' && { maxBudgetUsd }),
    ...(typeof maxTokens === 'number' && { maxTokens }),
    ...(generation !== undefined && { generation: generation as NonNullable<RunOptions['generation']> }),
    ...own,
  };
  if (kept.length + tools.length > 0) options.tools = [...tools, ...kept];
  return options;
}

/** An answer is judged where it is given: what judges it is there before the question is open again. */
async function readSchemas(root: ThreadPast): Promise<void> {
  await schemaCompileFault(RECOVERY_SCHEMA);
  for (const thread of threadsBelow(root)) {
    const ofCalls = thread.turn?.calls.flatMap((call) => call.questions) ?? [];
    for (const { request, response } of [...ofCalls, ...thread.questions]) {
      if (response === undefined && request.requestedSchema !== undefined) {
        await schemaCompileFault(request.requestedSchema);
      }
    }
  }
}

function* threadsBelow(thread: ThreadPast): Generator<ThreadPast> {
  yield thread;
  for (const child of thread.children) yield* threadsBelow(child);
}

const wasWritten = (sessionId: string) =>
  new TroupeError({
    code: 'SESSION_STALE',
    message: `session "${sessionId}" was written by another while it was repaired; resume it again`,
    retryable: true,
  });

const notBegun = (sessionId: string) =>
  new TroupeError({
    code: 'SESSION_STALE',
    message: `session "${sessionId}" holds no run to go on with: give it a message (host.run(agent, input, { sessionId }))`,
  });

function unknownAgent({ agents }: HostCore, { id, agentName }: SessionHandle): TroupeError {
  const known = [...agents.keys()].join(', ') || 'none';
  return new TroupeError({
    code: 'UNKNOWN_AGENT',
    message: `session "${id}" is one of "${agentName}", which this host does not know (known: ${known}); give { agent }, or createHost({ agents })`,
  });
}
