import type { Bag, ModelMessage, ModelRequest, ModelResponse } from '../contracts/index.js';
import { textOf, toParts } from '../kernel/content.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import { askAfterModel, askBeforeModel, askOnModelError } from '../kernel/model-hooks.js';
import { isOwnLoop } from './count-history.js';
import { fireHook } from './fire-hook.js';
import { houseCall, houseMeta } from './house-call.js';
import { sentMessages } from './kept-media.js';
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
  if (!isOwnLoop(executor)) throw failure(`an agent of the executor "${executor}" has no model of its own here`);
  let request: ModelRequest = {
    systemInstruction: INSTRUCTION,
    messages: [
      ...(await sentMessages(thread, messages)),
      { role: 'user', content: toParts('Summarise the conversation up to here.') },
    ],
    signal: signal(),
    _meta: houseMeta(thread, 'summary'),
  };
  const hooks = { fireHook: (point: string, payload: Bag) => fireHook(thread, point, payload) };
  const prepared = await askBeforeModel(hooks, request);
  if ('blocked' in prepared) throw failure(prepared.blocked);
  if ('response' in prepared) return summaryIn(prepared.response);
  request = prepared.request;
  const choice = tree.settings.model ?? agent.driver.model;
  try {
    const response = await houseCall(thread, { choice, request, purpose: 'summary', signal });
    const said = await askAfterModel(hooks, request, response);
    if (said !== undefined && 'blocked' in said) throw failure(said.blocked);
    return summaryIn(said?.response ?? response);
  } catch (thrown) {
    const { code, message } = describeError(thrown, 'MODEL_FAILED');
    const instead = code === SUMMARY_FAILED ? undefined : await askOnModelError(hooks, request, { code, message });
    if (instead === undefined) throw thrown;
    return summaryIn(instead);
  }
}

function summaryIn(response: ModelResponse): string {
  const text = textOf(response.content).trim();
  if (text === '' || response.finishReason === 'refusal') throw failure('the model gave none');
  return text;
}

const SUMMARY_FAILED = 'SUMMARY_FAILED';
const failure = (message: string) => new TroupeError({ code: SUMMARY_FAILED, message });
