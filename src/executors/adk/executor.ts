import type { LlmAgent } from '@google/adk';
import type { Executor, ExecutorCreator } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import type { AdkBackend } from './backend.js';
import { AdkBinding, sessionKey } from './binding.js';
import { isAdkLlmAgent } from './brands.js';
import type { AdkSession } from './session.js';

/** Drives an agent of `@google/adk`, an optional peer that is loaded with its first turn. */
export const adkExecutor: ExecutorCreator = (_, { definition: { backend } }) =>
  backend instanceof AdkBinding
    ? drive(backend.make ?? backend.agent, backend.sessions)
    : drive((backend as AdkBackend | undefined)?.agent, new Map());

/** One agent, or what makes it, as the executor of one session; its own tools are left to who defines it. */
export const driveAdk = (agent: unknown): Executor => drive(agent, new Map());

function drive(given: unknown, sessions: Map<string, AdkSession>): Executor {
  let key: string | undefined;
  let opening: Promise<AdkSession> | undefined;
  const open = async () => {
    const { AdkSession } = await loadAdk(() => import('./session.js'));
    const agent: unknown = typeof given === 'function' ? await given() : given;
    if (!isAdkLlmAgent(agent)) {
      throw new TroupeError({ code: 'INVALID_DEFINITION', message: 'backend.agent is no agent of @google/adk' });
    }
    return new AdkSession(agent as LlmAgent);
  };
  return {
    capabilities: CAPABILITIES,
    async turn(inbox, context) {
      opening ??= open();
      const session = await opening;
      key ??= sessionKey(context);
      sessions.set(key, session);
      return context.aborted ? undefined : session.turn(inbox, context);
    },
    close() {
      if (key !== undefined) sessions.delete(key);
    },
  };
}

const CAPABILITIES = [
  'streaming',
  'elicitation',
  'pause_resume',
  'cancellation',
  'multi_turn',
  'host_tool_execution',
  'stream_end_events',
];

async function loadAdk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const code = (cause as { code?: unknown } | null)?.code;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
    if (!isMissing || !String((cause as Error).message).includes('@google/adk')) throw cause;
    throw new TroupeError({
      code: 'MISSING_PACKAGE',
      message:
        'an agent with the executor "adk" needs the package @google/adk, which is not installed: npm i @google/adk@2.0.0',
      cause,
    });
  }
}
