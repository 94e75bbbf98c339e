import { type AgentDefinition, type AgentEvent, createHost, type RunResult } from '../../src/index.js';
import { geminiModel } from '../../src/models/gemini.js';
import { openaiModel } from '../../src/models/openai.js';
import { virtualClock } from '../../src/testing/index.js';
import type { ScriptedServer } from './scripted-server.js';
import { collect, ofType } from './team.js';

/** Models of both kinds, by the names `gemini/test` and `openai/test`, that ask this server. */
export const modelsAt = (server: ScriptedServer) => ({
  gemini: geminiModel({ name: 'test', apiKey: 'key', baseUrl: server.url }),
  openai: openaiModel({ name: 'test', apiKey: 'key', baseUrl: `${server.url}/v1` }),
});

export interface ProviderRun {
  events: AgentEvent[];
  result: RunResult;
  /** Requests that this run made. */
  requests: ScriptedServer['requests'];
}

/** One run whose models are asked over HTTP. The time between tries passes at once, or with `standsStill` never. */
export async function runAt(
  server: ScriptedServer,
  team: AgentDefinition,
  options: { standsStill?: boolean } = {},
): Promise<ProviderRun> {
  const before = server.requests.length;
  const clock = virtualClock();
  const host = createHost({ models: modelsAt(server), clock });
  const run = host.run(team, 'go', { permissionMode: 'autonomous' });
  const events = await collect(
    (async function* () {
      for await (const event of run) {
        if (!options.standsStill && noticeOf(event) === 'MODEL_RETRY') void clock.advance(10_000);
        yield event;
      }
    })(),
  );
  const result = await run.result;
  await host.close();
  return { events, result, requests: server.requests.slice(before) };
}

const noticeOf = (event: AgentEvent): string | undefined =>
  event.type === 'custom' && event.kind === 'notice' ? (event.data as { code: string }).code : undefined;

export const retriesIn = (events: readonly AgentEvent[]): number =>
  ofType(events, 'custom').filter((event) => noticeOf(event) === 'MODEL_RETRY').length;

/** One frame of a Gemini stream. */
export const geminiFrame = (parts: object[], finishReason?: string, rest: object = {}) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
  ...rest,
});

/** One frame of a stream of chat completions. */
export const chatFrame = (delta: object, finishReason: string | null = null, rest: object = {}) => ({
  choices: [{ index: 0, delta, finish_reason: finishReason }],
  ...rest,
});

/** A piece of a tool call as chat completions stream it. */
export const callPiece = (index: number | undefined, id?: string, name?: string, args?: string) =>
  chatFrame({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] });
