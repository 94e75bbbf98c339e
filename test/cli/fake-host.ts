import type { RunParts } from '../../src/cli/run.js';
import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import type { Project } from '../../src/define/project/project.js';
import type { Host, HostOptions, Run, RunOptions, RunResult } from '../../src/host/types.js';
import { memoryStore } from '../../src/stores/memory.js';
import { eventList, type Step } from './event-list.js';

export interface FakeRun {
  /** Steps of the run; a function waits for what it returns. */
  steps: readonly (Step | (() => Promise<void>))[];
  result?: Partial<RunResult>;
  /** Rejects the run, as wrong use does. */
  fault?: Error;
}

export interface FakeHost {
  readonly parts: RunParts;
  /** What happened to the host, in order. */
  readonly log: string[];
  readonly hostOptions: HostOptions[];
  readonly runs: { input: unknown; options: RunOptions | undefined }[];
  /** Resolves when the run is aborted. */
  readonly aborted: Promise<void>;
}

export const solo: AgentDefinition = agent({
  name: 'solo',
  description: 'Does it alone.',
}) as unknown as AgentDefinition;

/** A folder, and a user, that bring nothing. */
export const bareProject: Project = {
  folder: '/project',
  trusted: false,
  items: [],
  untrusted: [],
  problems: [],
  hooks: [],
  policy: [],
  mcpServers: {},
  skills: {},
  tools: async () => [],
  agent: () => Promise.reject(new Error('none')),
};

/** A host whose one run yields given events. */
export function fakeHost(run: FakeRun, more: Partial<RunParts> & { definition?: AgentDefinition } = {}): FakeHost {
  const log: string[] = [];
  const hostOptions: HostOptions[] = [];
  const runs: FakeHost['runs'] = [];
  let markAborted = () => {};
  const aborted = new Promise<void>((resolve) => {
    markAborted = resolve;
  });
  const { definition = solo, ...parts } = more;

  const result: RunResult = {
    ok: (run.result?.reason ?? 'completed') === 'completed',
    reason: 'completed',
    text: 'the answer',
    result: 'the answer',
    usage: {},
    data: {},
    sessionId: 's1',
    ...run.result,
  };
  const theRun = {
    sessionId: 's1',
    result: run.fault === undefined ? Promise.resolve(result) : Promise.reject(run.fault),
    respond: (requestId: string, answer: object) => void log.push(`respond ${requestId} ${JSON.stringify(answer)}`),
    steer: () => {},
    update: () => {},
    abort(reason?: string) {
      log.push(`abort ${reason}`);
      markAborted();
    },
    state: () => ({ root: { type: 'idle' }, pending: [], threads: [] }),
    async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent> {
      if (run.fault !== undefined) throw run.fault;
      const drafts = run.steps.filter((step) => typeof step !== 'function');
      const events = eventList(...drafts);
      let next = 0;
      for (const step of run.steps) {
        if (typeof step === 'function') await step();
        else yield events[next++] as AgentEvent;
      }
      log.push('drained');
    },
  } as unknown as Run;

  const host = {
    run(_agent: AgentDefinition, input: unknown, options?: RunOptions) {
      runs.push({ input, options });
      return theRun;
    },
    close: async () => void log.push('closed'),
  } as unknown as Host;

  return {
    log,
    hostOptions,
    runs,
    aborted,
    parts: {
      loadDefinition: async () => ({ definition, notices: [] }),
      openProject: async () => bareProject,
      trustProject: async () => [],
      isFile: () => true,
      mcpTools: async () => ({ kind: 'toolset', tools: async () => [] }) as never,
      loadModel: async () => ({ generate: () => Promise.reject(), generateStream: () => Promise.reject() }) as never,
      loadModels: async () => ({}),
      workspaceTools: () => [],
      openStore: memoryStore,
      createHost(options) {
        hostOptions.push(options);
        return host;
      },
      prompter: () => Promise.reject(new Error('nobody is asked here')),
      ...parts,
    },
  };
}
