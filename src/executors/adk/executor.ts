import type { LlmAgent } from '@google/adk';
import type { AgentDefinition, Executor, ExecutorCreator } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import type { AdkBackend } from './backend.js';
import { AdkBinding, OpaqueBinding, sessionKey } from './binding.js';
import { isAdkNode, sortAgent } from './brands.js';
import { loadAdk } from './load.js';
import { opaqueSession } from './opaque.js';
import { ownModelName } from './own-model.js';
import type { AdkSession, AdkSessionOptions } from './session.js';

const CAPABILITIES = [
  'streaming',
  'elicitation',
  'pause_resume',
  'cancellation',
  'multi_turn',
  'host_tool_execution',
  'stream_end_events',
  'usage',
];

const create: ExecutorCreator = (_, { definition: { backend }, sessionService }) => {
  if (backend instanceof OpaqueBinding) return opaqueSession(backend);
  if (backend instanceof AdkBinding)
    return drive(backend.more.make ?? backend.agent, {
      binding: backend,
      store: sessionService?.artifacts,
    });
  return driveAdk((backend as AdkBackend | undefined)?.agent);
};

/** Drives an agent of `@google/adk`, an optional peer that is loaded with its first turn. */
export const adkExecutor: ExecutorCreator = Object.assign(create, {
  capabilities: CAPABILITIES,
  ownModel: ({ backend }: AgentDefinition) => (backend instanceof AdkBinding ? ownModelName(backend.agent) : undefined),
});

/** One LlmAgent, or what makes it, as the executor of one session; its own tools are left to who defines it. */
export const driveAdk = (agent: unknown): Executor => drive(agent, {});

function drive(given: unknown, options: AdkSessionOptions): Executor {
  const { binding } = options;
  let key: string | undefined;
  let opening: Promise<AdkSession> | undefined;
  const open = async () => {
    const { AdkSession } = await loadAdk(() => import('./session.js'));
    const agent: unknown = typeof given === 'function' ? await given() : given;
    if (!isAdkNode(agent) || sortAgent(agent).kind !== 'llm') {
      const message = 'what backend.agent made for this session is no LlmAgent of @google/adk that the host can drive';
      throw new TroupeError({ code: 'INVALID_DEFINITION', message });
    }
    return new AdkSession(agent as LlmAgent, options);
  };
  return {
    capabilities: CAPABILITIES,
    async turn(inbox, context) {
      opening ??= open();
      const session = await opening;
      key ??= sessionKey(context);
      binding?.sessions.set(key, session);
      return context.aborted ? undefined : session.turn(inbox, context);
    },
    close() {
      if (key !== undefined) binding?.sessions.delete(key);
    },
  };
}
