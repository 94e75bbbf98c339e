import type { CallToolRequestOptions } from '@modelcontextprotocol/client';
import type { Clock, ToolContext, ToolResultData } from '../../contracts/index.js';
import { validateJson } from '../../kernel/schema.js';
import type { CallLimits } from './call-limits.js';
import { type Connection, NO_TIMEOUT } from './connection.js';
import { answerInput } from './elicitation.js';
import { failedResult, McpFailure } from './failure.js';
import type { CallableTool } from './listed-tool.js';
import { plainWords } from './plain-words.js';
import { toResourceResult, toResult } from './results.js';

/** One call under way on a connection. */
export interface ActiveCall {
  readonly server: string;
  readonly call: ToolContext;
  readonly clock: Clock;
  readonly connection: Connection;
  readonly limits: CallLimits;
  /** How many questions were asked for its sake. */
  readonly questions: { asked: number };
}

type Bag = Record<string, unknown>;

/** A server may ask for input so often before it has to come to an end. */
const MOST_ROUNDS = 10;
const ROUND_PAUSE_MS = 250;
const MOST_UPDATES = 1_000;
const LONGEST_UPDATE = 4_000;

const isBag = (value: unknown): value is Bag => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Calls a tool and answers what the server asks meanwhile. Rejects with what went wrong. */
export async function callTool(active: ActiveCall, tool: CallableTool, args: unknown): Promise<ToolResultData> {
  const params = { name: tool.name, arguments: isBag(args) ? args : {} };
  const answer = await askUntilDone(active, params, {
    signal: active.limits.signal,
    timeout: NO_TIMEOUT,
    allowInputRequired: true,
    onprogress: progressOf(active.call),
    // Without an output schema: the client would refuse the call of a tool whose schema it cannot compile.
    toolDefinition: { name: tool.name, inputSchema: isBag(tool.inputSchema) ? tool.inputSchema : {} } as never,
  });
  const { structuredContent, isError } = answer;
  if (tool.outputSchema !== undefined && structuredContent !== undefined && isError !== true) {
    const faults = await validateJson(tool.outputSchema, structuredContent);
    if (faults.length > 0) {
      const said = plainWords(faults.join('; '), 1_000);
      return failedResult(active.server, `answered with what does not fit its own output schema: ${said}`);
    }
  }
  return toResult(answer);
}

/** Reads a resource by its URI. Rejects with what went wrong. */
export async function readResource(active: ActiveCall, uri: string): Promise<ToolResultData> {
  const { connection, limits } = active;
  const options = { signal: limits.signal, timeout: NO_TIMEOUT, cacheMode: 'bypass' } as const;
  return toResourceResult(await connection.client.readResource({ uri }, options));
}

/**
 * Since revision 2026-07-28 a server that needs input ends its answer with what it asks, and is called again with the
 * answers and with the state that it gave along.
 */
async function askUntilDone(active: ActiveCall, params: Bag, options: CallToolRequestOptions): Promise<Bag> {
  const { client } = active.connection;
  let given: Bag = {};
  for (let round = 0; round <= MOST_ROUNDS; round++) {
    const answer: Bag = await client.callTool({ ...params, ...given } as never, options);
    if (answer.resultType !== 'input_required') return answer;
    const asked = Object.entries(isBag(answer.inputRequests) ? answer.inputRequests : {});
    const inputResponses: [string, unknown][] = [];
    for (const [key, request] of asked) inputResponses.push([key, await answerInput(active, request)]);
    if (asked.length === 0) await pause(active);
    given = {
      ...(asked.length > 0 && { inputResponses: Object.fromEntries(inputResponses) }),
      ...(answer.requestState !== undefined && { requestState: answer.requestState }),
    };
  }
  throw new McpFailure(`still asks for input after ${MOST_ROUNDS} rounds`);
}

function pause({ clock, limits: { signal } }: ActiveCall): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.schedule(done, ROUND_PAUSE_MS);
    function done(): void {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
  });
}

/** Progress for display. A server that floods us is not listened to any more. */
function progressOf({ progress }: ToolContext): NonNullable<CallToolRequestOptions['onprogress']> {
  let updates = 0;
  return ({ progress: done, total, message }) => {
    if (++updates > MOST_UPDATES) return;
    const text = plainWords(message, LONGEST_UPDATE);
    progress({
      ...(text !== '' && { content: [{ type: 'text', text }] }),
      ...(typeof total === 'number' && total > 0 && { progress: done / total }),
      data: { progress: done, ...(total !== undefined && { total }) },
    });
  };
}
