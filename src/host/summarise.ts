import type { ModelMessage, ModelRequest, ModelResponse } from '../contracts/index.js';
import { textOf, toParts } from '../kernel/content.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import { fireHook } from './fire-hook.js';
import { houseCall, houseMeta } from './house-call.js';
import { notice } from './session-tree.js';
import type { Thread } from './thread.js';

const INSTRUCTION =
  'You summarise a conversation for the colleague who takes it over. Keep what was asked, what is known and decided, and what is still open; add nothing.';

/**
 * A summary of a conversation by a thread's own model: one call, counted and paid like its others. Undefined, with a
 * notice, when there is none to be had. Never rejects.
 */
export async function summarise(
  thread: Thread,
  messages: readonly ModelMessage[],
  signal: () => AbortSignal,
  otherwise = 'the conversation goes over whole',
): Promise<string | undefined> {
  try {
    return await askForSummary(thread, messages, signal);
  } catch (thrown) {
    const text = `${otherwise}, there is no summary: ${describeError(thrown).message}`;
    notice(thread, 'SUMMARY_FAILED', 'warning', text);
    return undefined;
  }
}

async function askForSummary(
  thread: Thread,
  messages: readonly ModelMessage[],
  signal: () => AbortSignal,
): Promise<string> {
  const { tree, agent } = thread;
  const { executor } = agent.driver.descriptor;
  if (executor !== 'local') throw failure(`an agent of the executor "${executor}" has no model of its own here`);
  let request: ModelRequest = {
    systemInstruction: INSTRUCTION,
    messages: [...messages, { role: 'user', content: toParts('Summarise the conversation up to here.') }],
    signal: signal(),
    _meta: houseMeta(thread, 'summary'),
  };
  const hooked = await fireHook(thread, 'before_model', { request });
  if (hooked !== undefined) {
    if (hooked.action !== 'proceed') throw failure(hooked.reason ?? 'a hook blocked the model call');
    const changed = hooked.modifications as { request?: ModelRequest; response?: ModelResponse } | undefined;
    if (changed?.response !== undefined) return summaryIn(changed.response);
    if (changed?.request !== undefined) request = changed.request;
  }
  const choice = tree.settings.model ?? agent.driver.model;
  return summaryIn(await houseCall(thread, { choice, request, purpose: 'summary', signal }));
}

function summaryIn(response: ModelResponse): string {
  const text = textOf(response.content).trim();
  if (text === '' || response.finishReason === 'refusal') throw failure('the model gave none');
  return text;
}

const failure = (message: string) => new TroupeError({ code: 'SUMMARY_FAILED', message });
