import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import type { JsonSchema } from '../../contracts/index.js';
import type { ActiveCall } from './calls.js';
import { McpFailure, sayFailure } from './failure.js';
import { plainWords } from './plain-words.js';
import { sizeFault, withoutPatterns } from './schemas.js';

const LONGEST_MESSAGE = 4_000;
/** A person is not asked without end for the sake of one call. */
const MOST_QUESTIONS = 50;

/**
 * A question that a server sends beside its answers, where nothing says which call it belongs to: the last one to begin.
 * With calls of several sessions under way it is not asked, as a person might be shown what is another's.
 */
export async function answerQuestion(
  request: ElicitRequest,
  calls: readonly ActiveCall[],
  onRefused: (why: string) => void,
): Promise<ElicitResult> {
  const last = calls.at(-1);
  if (last === undefined) return { action: 'cancel' };
  if (calls.some(({ call }) => call.sessionId !== last.call.sessionId)) {
    onRefused('asked something while calls of several sessions were under way: it was not asked, as it may be of any');
    return { action: 'cancel' };
  }
  return ask(last, request.params);
}

/** What a server asks as its answer to a call. Only a person can be asked: there is no sampling, and there are no roots. */
export async function answerInput(active: ActiveCall, request: unknown): Promise<ElicitResult> {
  const { method, params } = (request ?? {}) as { method?: unknown; params?: unknown };
  if (method !== 'elicitation/create') {
    throw new McpFailure(`asks for ${plainWords(method, 100) || 'something'}, which it was not offered`);
  }
  return ask(active, params as ElicitRequest['params']);
}

async function ask(active: ActiveCall, params: ElicitRequest['params']): Promise<ElicitResult> {
  const { call, limits, server } = active;
  const { mode, message, requestedSchema } = (params ?? {}) as Record<string, unknown>;
  // A page of the server's choice is never opened on its word.
  if (mode !== undefined && mode !== 'form') return { action: 'decline' };
  const fault = requestedSchema === undefined ? undefined : sizeFault(requestedSchema);
  if (fault !== undefined) throw new McpFailure(`asks with a schema that cannot be used: ${fault}`);
  if (++active.questions.asked > MOST_QUESTIONS) {
    throw new McpFailure(`asks more than ${MOST_QUESTIONS} questions for one call`);
  }
  limits.deadline.pause();
  try {
    const { action, content } = await call.elicit({
      title: `The MCP server "${server}" asks`,
      message: plainWords(message, LONGEST_MESSAGE),
      ...(requestedSchema !== undefined && { requestedSchema: withoutPatterns(requestedSchema) as JsonSchema }),
      context: { kind: 'mcp', mcp: { server } },
    });
    if (action !== 'accept') return { action: action === 'decline' ? 'decline' : 'cancel' };
    return { action: 'accept', content: (content ?? {}) as NonNullable<ElicitResult['content']> };
  } catch (thrown) {
    throw new McpFailure(`asks what cannot be asked: ${sayFailure(thrown)}`, { cause: thrown });
  } finally {
    limits.deadline.resume();
  }
}
