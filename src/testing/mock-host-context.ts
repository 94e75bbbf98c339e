import type {
  ElicitationRequest,
  HookPayloadBase,
  HostContext,
  PolicyRequest,
  ToolCallRequest,
} from '../contracts/index.js';
import { scriptedModel } from '../models/scripted.js';
import { memoryStore } from '../stores/memory.js';

/** What a mock host was asked, in order. */
export interface HostRecord {
  readonly policy: PolicyRequest[];
  readonly hooks: { point: string; payload: HookPayloadBase }[];
  readonly questions: Omit<ElicitationRequest, 'requestId'>[];
  readonly calls: ToolCallRequest[];
  /** Models that were asked for. */
  readonly models: unknown[];
}

export type MockHostContext = HostContext & { readonly record: HostRecord };

/**
 * The ports that a host gives, without a host: policy allows, hooks proceed, every question is answered with `cancel`,
 * there are no tools, any model is a scripted one without a script, sessions are kept in memory. `record` says what was
 * asked of the ports that were not overridden.
 */
export function mockHostContext(overrides: Partial<HostContext> = {}): MockHostContext {
  const record: HostRecord = { policy: [], hooks: [], questions: [], calls: [], models: [] };
  let asked = 0;
  return {
    policyEngine: {
      evaluate(request) {
        record.policy.push(request);
        return { outcome: 'allow' };
      },
      getExcluded: () => [],
    },
    hookSystem: {
      async fire(point, payload) {
        record.hooks.push({ point, payload });
        return { action: 'proceed' };
      },
      supportedHookPoints: () => [],
    },
    elicitation: {
      async ask(request) {
        record.questions.push(request);
        return { requestId: `q${++asked}`, action: 'cancel' };
      },
    },
    toolRegistry: {
      getToolsForAgent: () => [],
      authorize: () => true,
      // biome-ignore lint/correctness/useYield: there is nothing to show.
      async *execute(request) {
        record.calls.push(request);
        return {
          llmContent: [{ type: 'text', text: `no tool "${request.name}"` }],
          isError: true,
          errorType: 'tool_not_registered',
        };
      },
    },
    modelConfig: {
      resolve({ requested }) {
        record.models.push(requested);
        const name = typeof requested === 'string' ? requested : 'scripted';
        const model = typeof requested === 'object' ? requested : scriptedModel([]);
        return { name, provider: name.split('/')[0] as string, model };
      },
    },
    sessionService: memoryStore(),
    ...overrides,
    record,
  };
}
