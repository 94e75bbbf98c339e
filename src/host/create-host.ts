import { randomBytes } from 'node:crypto';
import { createActor } from 'xstate';
import { dropActorTable } from '../../machines/actor-table.js';
import { createChildPool, type Pool } from '../../machines/child-pool.logic.js';
import type { SessionOutput } from '../../machines/session.events.js';
import type {
  AgentDefinition,
  BackendReader,
  Clock,
  ExecutorCreator,
  ExecutorType,
  LifecycleInterceptor,
  PolicyEvaluator,
  SessionProvider,
} from '../contracts/index.js';
import { toolNameFault } from '../kernel/agent-check.js';
import { systemClock } from '../kernel/clock.js';
import { describeAgent } from '../kernel/definition.js';
import { TroupeError, throwProblems } from '../kernel/errors.js';
import { createLateTimer } from '../kernel/late-timer.js';
import { memoryCredentials } from '../kernel/memory-credentials.js';
import type { SavedRules } from '../kernel/policy-rules.js';
import { seededRandom } from '../kernel/random.js';
import { assertSessionId } from '../kernel/session-id.js';
import { createStamp } from '../kernel/stamp.js';
import { TurnoverMap } from '../kernel/turnover-map.js';
import { isCompatible } from '../kernel/version.js';
import { type CompositionMachine, wireSession } from './agent-logics.js';
import { createSession } from './agent-session.js';
import { attach } from './attach.js';
import { createBackends, withBackends } from './backends.js';
import { abortStop, endBroken, stopRun } from './end-run.js';
import { outsideContext } from './executors.js';
import { hookFaults } from './hook-options.js';
import type { HostCore, ModelRegistry } from './host-core.js';
import { createInspection, type HostInspection, unbreakable } from './inspection.js';
import { createMediaKeeper } from './kept-media.js';
import { createLifecycle } from './lifecycle.js';
import { assertAgent, closeTree } from './open-session.js';
import { hostOptionFaults, limitFaults, optionsOf } from './option-keys.js';
import { createPermits } from './permits.js';
import { forkSession } from './recovery/fork.js';
import type { RestoreFile } from './recovery/restore-files.js';
import { rewindSession } from './recovery/rewind.js';
import { resumeRun, startRun } from './run.js';
import { createSessionTools, isShared } from './session-tools.js';
import { notice } from './session-tree.js';
import { createSkills, type SkillReader } from './skills.js';
import type { Tree } from './thread.js';
import { createToolsets, isToolset, toolsetProblems } from './toolsets.js';
import { Tracing } from './tracing.js';
import type { Host, HostOptions, InspectServer, InspectServerOptions } from './types.js';

/** The parts that a host is put together from; `builtins.ts` registers ours. */
export interface HostParts {
  readonly executors: Readonly<Record<string, ExecutorCreator>>;
  readonly compositions: Readonly<Record<string, CompositionMachine>>;
  /** By executor type: what reads its backends. */
  readonly backends: Readonly<Record<string, () => BackendReader>>;
  readonly models: (
    options: Pick<HostOptions, 'models' | 'aliases' | 'router' | 'prices' | 'fallbacks'>,
    clock: Clock,
  ) => ModelRegistry;
  readonly policy: (options: Pick<HostOptions, 'policy' | 'userPolicyFile' | 'trust'>) => {
    readonly evaluator: PolicyEvaluator;
    readonly savedRules?: SavedRules | undefined;
  };
  readonly hooks: (
    sources: NonNullable<HostOptions['hooks']>,
    options: { clock: Clock },
  ) => LifecycleInterceptor | undefined;
  /** Reads skills; imported when an agent first has some. */
  readonly skills: () => Promise<SkillReader>;
  readonly store: () => SessionProvider;
  /** Puts one file of a workspace back. */
  readonly restoreFile: RestoreFile;
  /** Serves Studio for a host; imported when it is first asked for. */
  readonly studio: (inspections: readonly HostInspection[], options: InspectServerOptions) => Promise<InspectServer>;
}

const DEFAULT_TOOL_TIMEOUT_MS = 120_000;
const DEFAULT_ABORT_TIMEOUT_MS = 5_000;
const CAPABILITIES = [
  'streaming',
  'elicitation',
  'pause_resume',
  'cancellation',
  'attach',
  'compositions',
  'foreign_sessions',
];

type SessionOrder = { type: 'none' };

/** Puts a host together. Throws with every fault of its options. */
export function createHostFrom(parts: HostParts, options: HostOptions): Host {
  checkOptions(optionsOf(options, 'createHost'));
  const { clock = systemClock, limits = {}, tools = [], agents = [] } = options;
  const shared = tools.filter(isShared);
  const executors = new Map(Object.entries(parts.executors));
  const hooks = parts.hooks(options.hooks ?? [], { clock });
  const hookPoints: ReadonlySet<string> = new Set(hooks?.supportedHookPoints());
  const policy = parts.policy(options);
  let pool: Pool | undefined;
  const core: HostCore = {
    clock,
    lateTimer: createLateTimer(clock),
    restoreFile: parts.restoreFile,
    stamp: createStamp(clock, `${randomBytes(3).toString('hex')}-`),
    models: parts.models(options, clock),
    policy: policy.evaluator,
    savedRules: policy.savedRules,
    hooks,
    hookPoints,
    lifecycle: createLifecycle(hookPoints),
    credentials: options.credentials ?? memoryCredentials(),
    media: createMediaKeeper(),
    elicitation: options.elicitation ?? 'respond',
    store: options.store ?? parts.store(),
    appName: options.appName ?? 'troupe',
    tracing: undefined,
    watch: undefined,
    permits: createPermits(limits, clock),
    random: options.seed === undefined ? Math.random : seededRandom(options.seed),
    toolTimeoutMs: limits.toolTimeoutMs ?? DEFAULT_TOOL_TIMEOUT_MS,
    abortTimeoutMs: limits.abortTimeoutMs ?? DEFAULT_ABORT_TIMEOUT_MS,
    hostTools: new Map(shared.flatMap((tool) => (isToolset(tool) ? [] : [[tool.name, tool] as const]))),
    backends: createBackends(parts.backends),
    skills: createSkills(parts.skills, { trusted: options.trust !== false }),
    toolsets: undefined,
    sessionTools: undefined as never,
    agents: new Map(agents.map((agent) => [agent.name, agent])),
    executors,
    patterns: new Set(Object.keys(parts.compositions)),
    threads: new TurnoverMap(),
    trees: new TurnoverMap(),
    opening: new TurnoverMap(),
    closing: new TurnoverMap(),
    compiled: new WeakMap(),
    strays: new Set(),
    sessionLogic: undefined as never,
    spawn: (sessionId, input) => (pool as Pool).spawn(sessionId, core.sessionLogic, input),
    isClosing: false,
  };
  if (options.telemetry !== undefined) {
    core.tracing = new Tracing(
      options.telemetry,
      () => clock.now(),
      (message) => tellAll(core, 'TELEMETRY_FAILED', `telemetry threw, and is left out from here on: ${message}`),
    );
  }
  core.sessionTools = createSessionTools(core, tools);
  core.toolsets = withBackends(createToolsets(core, shared.filter(isToolset)), core.backends, core.skills);
  const { inspect } = options;
  const audience = { isThere: inspect !== undefined };
  core.sessionLogic = wireSession(core, parts.compositions, audience);
  const sessions = createChildPool<SessionOrder>((_, own) => {
    pool = own;
    return {
      order() {},
      childEnded(sessionId, output, error) {
        const tree = core.trees.get(sessionId);
        if (tree === undefined) return;
        if (tree.root.run !== undefined) endBroken(tree.root, error);
        closeTree(tree, (output as SessionOutput | undefined)?.reason ?? 'failed');
      },
      dispose() {},
    };
  });
  const root = createActor(sessions, {
    id: 'host',
    input: { address: 'host' },
    ...(inspect !== undefined && {
      inspect: unbreakable(inspect, (message) =>
        tellAll(core, 'INSPECT_FAILED', `inspect threw, and is left out from here on: ${message}`),
      ),
    }),
  });
  dropActorTable(root);
  root.start();

  const servers = new Set<InspectServer>();
  const host: Host = {
    models: core.models,
    run: (agent, input, runOptions) =>
      startRun(core, agent as AgentDefinition, input as string, optionsOf(runOptions, 'run')),
    session: (agent, runOptions) => createSession(core, agent as AgentDefinition, optionsOf(runOptions, 'session')),
    resume: async (sessionId, resumeOptions) => resumeRun(core, sessionId, optionsOf(resumeOptions, 'resume')),
    async fork(sessionId, forkOptions) {
      const fork = await forkSession(core, sessionId, optionsOf(forkOptions, 'fork'));
      core.watch?.tell(fork.sessionId);
      return fork;
    },
    async rewind(sessionId, rewindOptions) {
      await rewindSession(core, sessionId, optionsOf(rewindOptions, 'rewind'));
      core.watch?.tell(sessionId);
    },
    attach: (sessionId, attachOptions) => attach(core, sessionId, optionsOf(attachOptions, 'attach')),
    list: async (agentName) => core.store.list(agentName, { appName: core.appName }),
    async delete(sessionId) {
      assertSessionId(sessionId);
      await core.closing.get(sessionId);
      if (core.trees.has(sessionId) || core.opening.has(sessionId)) {
        throw new TroupeError({
          code: 'SESSION_BUSY',
          message: `session "${sessionId}" is open: end it first`,
          retryable: true,
        });
      }
      await core.store.delete(sessionId);
      core.watch?.tell(sessionId);
    },
    registerExecutor: (type: ExecutorType, creator: ExecutorCreator) => {
      if (typeof type !== 'string' || type === '') {
        throw new TroupeError({ code: 'INVALID_OPTION', message: 'an executor needs the name of its type, a text' });
      }
      if (typeof creator !== 'function') {
        const message = `executor "${type}": its creator must be a function (descriptor, context, definition) => executor or session`;
        throw new TroupeError({ code: 'INVALID_OPTION', message });
      }
      if (executors.has(type) || type === 'composition') {
        throw new TroupeError({ code: 'INVALID_OPTION', message: `executor "${type}" is registered already` });
      }
      assertServes(type, creator);
      executors.set(type, creator);
    },
    async inspectServer(given) {
      const serverOptions = optionsOf(given, 'inspectServer');
      assertPort(serverOptions.port);
      if (core.isClosing)
        throw new TroupeError({ code: 'HOST_CLOSED', message: 'this host is closed; make a new one' });
      const others = Object.entries(serverOptions.hosts ?? {}).map(([name, other]) => inspectionOf(other, name));
      const server = await parts.studio([inspectionOf(host, serverOptions.name), ...others], serverOptions);
      servers.add(server);
      return {
        url: server.url,
        close() {
          servers.delete(server);
          return server.close();
        },
      };
    },
    describe(agent) {
      assertAgent(agent as AgentDefinition);
      return describeAgent(core.backends.read(agent as AgentDefinition).definition);
    },
    context: () => outsideContext(core),
    supports: (capability) => CAPABILITIES.includes(capability),
    close: (closeOptions) => {
      closing ??= closeHost(core, drainOf(optionsOf(closeOptions, 'close'))).then(async () => {
        root.stop();
        await Promise.all([...servers].map((server) => server.close()));
      });
      return closing;
    },
    [Symbol.asyncDispose]: () => host.close(),
  };
  let closing: Promise<void> | undefined;
  inspectable.set(host, (name) => createInspection(core, host, root, audience, name));
  return host;
}

/** Throws `INCOMPATIBLE_VERSION` for an executor that was written for another host than this one. */
function assertServes(type: string, { interfaceVersion }: ExecutorCreator): void {
  const verdict = interfaceVersion === undefined ? undefined : isCompatible(String(interfaceVersion));
  if (verdict === undefined || verdict.compatible) return;
  throw new TroupeError({ code: 'INCOMPATIBLE_VERSION', message: `executor "${type}": ${verdict.reason}` });
}

function assertPort(port: unknown): void {
  const isPort = port === undefined || (Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535);
  if (isPort) return;
  const message = `port must be a whole number from 0 (any that is free) to 65535, not ${String(port)}`;
  throw new TroupeError({ code: 'INVALID_OPTION', message });
}

function drainOf({ drainMs = 0 }: { drainMs?: number }): number {
  if (typeof drainMs === 'number' && drainMs >= 0) return drainMs;
  const message = `drainMs must be a number of milliseconds from 0, not ${String(drainMs)}`;
  throw new TroupeError({ code: 'INVALID_OPTION', message });
}

/** How each host is looked into from outside. */
const inspectable = new WeakMap<Host, (name: string | undefined) => HostInspection>();

function inspectionOf(host: Host, name: string | undefined): HostInspection {
  const inspection = inspectable.get(host)?.(name);
  if (inspection !== undefined) return inspection;
  throw new TroupeError({ code: 'INVALID_OPTION', message: `hosts: "${name}" is no host; make it with createHost` });
}

/** Once: something that only looks on has broken, and every session that is open hears of it. */
function tellAll(core: HostCore, code: string, text: string): void {
  for (const { root } of core.trees.values()) notice(root, code, 'warning', text);
}

/** Takes no more work, lets runs end for a while, aborts the rest, and waits until every session is gone. */
async function closeHost(core: HostCore, drainMs: number): Promise<void> {
  core.isClosing = true;
  core.toolsets?.stopWaiting();
  const allClosed = () => Promise.all([...[...core.trees.values()].map(whenClosed), ...core.closing.values()]);
  const left = allClosed();
  for (const { root } of [...core.trees.values()]) {
    root.endsSession = true;
    if (root.run === undefined) root.actor.send({ type: 'session.close', reason: 'completed' });
  }
  if (drainMs > 0) await within(core, left, drainMs);
  for (const { root } of [...core.trees.values()]) stopRun(root, abortStop('the host is being closed', 'host'));
  await left;
  await allClosed();
  await core.hooks?.close?.();
  const released = Promise.all([core.toolsets?.close(), core.sessionTools.closeAll()]);
  if (core.strays.size > 0) await strayEnds(core);
  await released;
}

const whenClosed = (tree: Tree) =>
  new Promise<void>((resolve) => {
    const { onClosed } = tree;
    const closed = () => {
      onClosed?.();
      resolve();
    };
    tree.onClosed = closed;
  });

/**
 * Tools that have not ended though they were told to are waited for a while. A clock that nobody moves on would make that
 * for ever: then for some rounds of the event loop instead.
 */
async function strayEnds(core: HostCore): Promise<void> {
  const { clock, strays, abortTimeoutMs } = core;
  if (clock === systemClock) return within(core, Promise.all(strays), abortTimeoutMs);
  for (let round = 0; round < STRAY_ROUNDS && strays.size > 0; round++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

const STRAY_ROUNDS = 100;

function within(core: Pick<HostCore, 'clock'>, work: Promise<unknown>, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = core.clock.schedule(() => resolve(), limitMs);
    void work.finally(() => {
      cancel();
      resolve();
    });
  });
}

function checkOptions(options: HostOptions): void {
  const problems = hostOptionFaults(options);
  // What has another form cannot be looked into.
  const misformed = new Set(problems.map(({ path }) => path));
  const own = <K extends keyof HostOptions>(key: K) => (misformed.has(`createHost.${key}`) ? undefined : options[key]);
  const agents = own('agents') ?? [];
  const twice = (list: readonly { name: string }[], what: string) => {
    const seen = new Set<string>();
    for (const { name } of list) {
      if (seen.has(name))
        problems.push({ code: 'INVALID_OPTION', path: what, message: `two named "${name}"; rename one` });
      seen.add(name);
    }
  };
  problems.push(...hookFaults(own('hooks') ?? []));
  const shared = (own('tools') ?? []).filter(isShared);
  twice(shared, 'tools');
  problems.push(...toolsetProblems(shared));
  for (const tool of shared) {
    const fault = isToolset(tool) ? undefined : toolNameFault(tool.name);
    if (fault !== undefined) problems.push({ code: 'INVALID_OPTION', path: 'tools', message: fault });
  }
  twice(agents, 'agents');
  const elicitation = own('elicitation');
  if (
    elicitation !== undefined &&
    typeof elicitation !== 'function' &&
    elicitation !== 'respond' &&
    elicitation !== 'deny'
  ) {
    problems.push({ code: 'INVALID_OPTION', path: 'elicitation', message: 'must be a function, "respond" or "deny"' });
  }
  problems.push(...limitFaults(own('limits') ?? {}));
  for (const agent of agents) {
    try {
      assertAgent(agent);
      describeAgent(agent);
    } catch (thrown) {
      if (!(thrown instanceof TroupeError)) throw thrown;
      problems.push(
        ...(thrown.problems.length > 0 ? thrown.problems : [{ code: thrown.code, message: thrown.message }]),
      );
    }
  }
  throwProblems(problems, 'INVALID_OPTION');
}
