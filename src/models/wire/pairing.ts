import type { ContentPart, ModelMessage } from '../../contracts/index.js';
import { partText } from '../../kernel/part-text.js';

/** Every provider takes these, and none takes more than 40 characters for sure. */
const USABLE_ID = /^[A-Za-z0-9_-]{1,40}$/;

type Call = ContentPart<'function_call'>;
type Response = ContentPart<'function_response'>;

const isCall = (part: ContentPart): part is Call => part.type === 'function_call';
const isResponse = (part: ContentPart): part is Response => part.type === 'function_response';

/**
 * The history as a provider accepts it, whatever ids it comes with: neighbours of one role are one message; each call
 * has an id of its own; the responses to a model message stand in call order at the front of the user message behind
 * it. A call that nobody answered is answered with an error, a response that nobody asked for becomes text.
 * The given messages are not touched.
 */
export function pairMessages(messages: readonly ModelMessage[]): ModelMessage[] {
  const merged = mergeNeighbours(messages);
  const takeId = idsOfRequest();
  const paired: ModelMessage[] = [];
  for (let at = 0; at < merged.length; at++) {
    const message = merged[at] as ModelMessage;
    if (message.role !== 'model') {
      paired.push({ role: message.role, content: message.content.map(orphanAsText) });
      continue;
    }
    const content = message.content.map((part) =>
      isCall(part) ? { ...part, id: takeId(part.id) } : orphanAsText(part),
    );
    paired.push({ role: 'model', content });
    const calls = message.content.filter(isCall);
    if (calls.length === 0) continue;

    const answers: ModelMessage[] = [];
    while (at + 1 < merged.length && merged[at + 1]?.role !== 'model') answers.push(merged[++at] as ModelMessage);
    const matched = matchResponses(calls, answers.flatMap((answer) => answer.content).filter(isResponse));
    const wireCalls = content.filter(isCall);
    const responses = wireCalls.map((call, index): Response => {
      const response = matched[index];
      if (response === undefined)
        return {
          type: 'function_response',
          name: call.name,
          id: call.id,
          response: { error: 'no result was recorded' },
        };
      return { ...response, name: call.name, id: call.id };
    });
    const taken = new Set(matched);
    const rest = answers.map(
      ({ role, content: parts }): ModelMessage => ({
        role,
        content: parts.filter((part) => !isResponse(part) || !taken.has(part)).map(orphanAsText),
      }),
    );
    paired.push(...mergeNeighbours([{ role: 'user', content: responses }, ...rest]));
  }
  return paired.filter((message) => message.content.length > 0);
}

function mergeNeighbours(messages: readonly ModelMessage[]): ModelMessage[] {
  const merged: ModelMessage[] = [];
  for (const message of messages) {
    if (message.content.length === 0) continue;
    const last = merged.at(-1);
    if (last?.role === message.role) last.content.push(...message.content);
    else merged.push({ role: message.role, content: [...message.content] });
  }
  return merged;
}

/** By id in order of appearance, so that a reused id pairs first with first; what is left, by name. */
function matchResponses(calls: readonly Call[], responses: readonly Response[]): (Response | undefined)[] {
  const free = new Set(responses);
  const ids = new Set(calls.map((call) => call.id));
  const take = (fits: (response: Response) => boolean): Response | undefined => {
    for (const response of free) {
      if (!fits(response)) continue;
      free.delete(response);
      return response;
    }
    return undefined;
  };
  const byId = calls.map((call) => take((response) => response.id === call.id));
  return calls.map(
    (call, index) => byId[index] ?? take((response) => response.name === call.name && !ids.has(response.id)),
  );
}

function idsOfRequest(): (id: string | undefined) => string {
  const used = new Set<string>();
  let count = 0;
  return (id) => {
    count++;
    let wireId = id !== undefined && USABLE_ID.test(id) && !used.has(id) ? id : `call_${count}`;
    for (let turn = 2; used.has(wireId); turn++) wireId = `call_${count}_${turn}`;
    used.add(wireId);
    return wireId;
  };
}

const orphanAsText = (part: ContentPart): ContentPart =>
  isResponse(part) || isCall(part) ? { type: 'text', text: partText(part) ?? '' } : part;
