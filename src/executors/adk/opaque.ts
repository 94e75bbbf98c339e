import type {
  AgentEvent,
  AgentResponse,
  AgentSession,
  ElicitationResponse,
  SessionStreamData,
} from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import type { OpaqueBinding } from './binding.js';
import { loadAdk } from './load.js';
import type { OpaqueRun } from './opaque-run.js';

/**
 * What ADK runs by itself, as a session: its runner, its tools, its history. The host shows what it says and asks what
 * it asks; nothing that it does passes the host's gate.
 */
export function opaqueSession(binding: OpaqueBinding): AgentSession {
  let opening: Promise<OpaqueRun> | undefined;
  const ending = new AbortController();
  const open = async () => {
    const { OpaqueRun } = await loadAdk(() => import('./opaque-run.js'));
    return new OpaqueRun(binding.make === undefined ? binding.agent : await binding.make(), binding.plugins);
  };

  async function* read(data: SessionStreamData, signal: AbortSignal): AsyncGenerator<AgentEvent, void, undefined> {
    opening ??= open();
    const run = await opening;
    if (signal.aborted) return;
    if (data.kind === 'message') yield* run.say(data.content, signal);
    else if (data.kind === 'elicitation_response') yield* run.answer(withId(data.requestId, data.response), signal);
    else throw new TroupeError({ code: 'UNKNOWN_REQUEST', message: 'an opaque agent of ADK runs its own tools' });
  }

  return {
    stream(data, options): AgentResponse {
      const controller = new AbortController();
      const signals = [ending.signal, controller.signal, ...(options?.signal === undefined ? [] : [options.signal])];
      return { stream: read(data, AbortSignal.any(signals)), controller: { abort: () => controller.abort() } };
    },
    update() {},
    steer() {},
    abort: () => ending.abort(),
  };
}

const withId = (requestId: string, response: Omit<ElicitationResponse, 'requestId'>): ElicitationResponse => ({
  ...response,
  requestId,
});
