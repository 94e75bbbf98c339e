import type { AgentDescriptor, ExecutorCreator } from '../contracts/index.js';
import { driveAdk } from '../executors/adk/executor.js';
import { remoteExecutor } from '../executors/remote/index.js';
import type { ConformanceSkip } from './conformance.js';
import { executorCases } from './executor-cases.js';

/** A case that does not hold for a backend, and the capability that says so by not being declared. */
export interface UnsupportedCase extends ConformanceSkip {
  readonly missing: string;
}

/** One kind of backend that comes with the host. */
export interface ExecutorSupport {
  /** Of a column: short. */
  readonly name: string;
  readonly drives: string;
  /** What its sessions declare. Undefined: what the definition of its agent says. */
  readonly capabilities: readonly string[] | undefined;
  /** It runs its own tools: refused until a policy rule grants it. */
  readonly opaque: boolean;
  readonly skips: readonly UnsupportedCase[];
}

type Context = Parameters<ExecutorCreator>[1];

const NOWHERE = { definition: { backend: { cardUrl: 'http://127.0.0.1/' } } } as Context;
const remote = remoteExecutor({ name: 'remote' } as AgentDescriptor, NOWHERE);

const OWN_TOOLS = {
  reason: 'an A2A peer runs its own tools; the host has no hand in them',
  missing: 'host_tool_execution',
};

/**
 * What comes with the host, and what of the cases does not hold for it. Tests hold it true both ways: every other case
 * passes, and those that are named here fail.
 */
export const executorSupport: readonly ExecutorSupport[] = [
  {
    name: 'local',
    drives: 'a model, in the host’s own loop; `openrouter` too',
    capabilities: undefined,
    opaque: false,
    skips: [],
  },
  {
    name: 'foreign session',
    drives: 'an `AgentSession` of anybody’s that leaves its tools to the host',
    capabilities: undefined,
    opaque: false,
    skips: [],
  },
  {
    name: 'adk',
    drives: 'an `LlmAgent` of `@google/adk`, with a model of its own',
    capabilities: driveAdk(undefined).capabilities,
    opaque: false,
    skips: [],
  },
  {
    name: 'adk, host’s model',
    drives: 'an `LlmAgent` of `@google/adk` that asks the host’s models',
    capabilities: driveAdk(undefined).capabilities,
    opaque: false,
    skips: [],
  },
  {
    name: 'remote',
    drives: 'an A2A peer over HTTP',
    capabilities: 'turn' in remote ? remote.capabilities : undefined,
    opaque: 'turn' in remote && remote.opaque === true,
    skips: [
      ...['usage is told as increments, each once', 'a budget of tokens ends the run once it is spent'].map((name) => ({
        case: name,
        reason: 'A2A has no usage',
        missing: 'usage',
      })),
      ...[
        'a call runs on the host, with its arguments, once; then the agent goes on',
        'the calls of a turn are all answered before the agent goes on',
        'a denied call runs nothing, is told, and the agent goes on',
        'an unknown tool is answered with an error, and the agent goes on',
        'what policy asks about waits for a person, then runs',
        'hooks fire for its calls as for any other',
        'an abort while a call runs answers the call and ends the run',
        'a limit on turns ends the run',
        'a limit on model calls ends the run before one too many',
        'the words of a turn come before its calls, and these in their order',
        'calls that the consumer runs pause its stream until the last of their results',
        'the signature of a call is kept byte for byte',
        'a part of an unknown kind in a result is kept, and the agent goes on',
        'arguments come through as the JSON that they are, whatever is in them',
        'what is said while it works is heard before it goes on, and shown',
      ].map((name) => ({ case: name, ...OWN_TOOLS })),
    ],
  },
];

/** What one backend does of one case. */
export interface CaseSupport {
  readonly name: string;
  readonly holds: boolean;
  /** Why it does not hold. */
  readonly reason?: string;
  /** The capability that it does not declare. */
  readonly missing?: string;
}

/** Every case for one backend, in the order of the cases. */
export const supportOf = ({ skips }: ExecutorSupport): CaseSupport[] =>
  executorCases.map(({ name }) => {
    const skip = skips.find((one) => one.case === name);
    return skip === undefined
      ? { name, holds: true }
      : { name, holds: false, reason: skip.reason, missing: skip.missing };
  });
