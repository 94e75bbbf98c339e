import type { AgentEvent, ElicitationAnswer } from '../../src/contracts/index.js';
import {
  agent,
  createHost,
  type HostOptions,
  type Run,
  type RunOptions,
  type RunResult,
  type ToolDefinition,
} from '../../src/index.js';
import { type ScriptEntry, type ScriptedModel, scriptedModel } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';

/** One call of a script: a name, or a name with arguments. */
export type Asked = string | readonly [name: string, args: unknown];

/** A model answer that asks for these calls; ids `c1`, `c2` … by place. */
export const calls = (...asked: Asked[]): ScriptEntry => ({
  toolCalls: asked.map((one, index) => ({
    id: `k${index + 1}`,
    name: typeof one === 'string' ? one : one[0],
    args: typeof one === 'string' ? {} : one[1],
  })),
});

export interface DeskOptions {
  own?: readonly (ToolDefinition | string)[];
  host?: HostOptions;
  run?: RunOptions;
  /** Answers of the model; a last one that says "done" is added. */
  script: readonly ScriptEntry[];
  /** Sees each event as it comes. */
  onEvent?: (event: AgentEvent, run: Run) => void;
  /** Answers every question; without it nobody does. */
  answer?: ElicitationAnswer | ((request: AgentEvent<'elicitation_request'>) => ElicitationAnswer | undefined);
}

export interface DeskResult {
  events: AgentEvent[];
  result: RunResult;
  model: ScriptedModel;
  /** `tool_response`s in order. */
  responses: AgentEvent<'tool_response'>[];
  questions: AgentEvent<'elicitation_request'>[];
}

/** Runs one agent with tools through a script, its events held to the rules of a log. */
export async function runDesk(options: DeskOptions): Promise<DeskResult> {
  const { own = [], script, onEvent, answer } = options;
  const { clock } = options.host ?? {};
  const model = scriptedModel([...script, { text: 'done' }], clock === undefined ? {} : { clock });
  const host = createHost({ ...options.host, models: { scripted: model } });
  try {
    const run = host.run(agent({ name: 'desk', tools: own }), 'go', options.run);
    const events = await collect(
      watched(run, (event) => {
        onEvent?.(event, run);
        if (event.type !== 'elicitation_request' || answer === undefined) return;
        const given = typeof answer === 'function' ? answer(event) : answer;
        if (given !== undefined) run.respond(event.requestId, given);
      }),
    );
    return {
      events,
      result: await run.result,
      model,
      responses: ofType(events, 'tool_response'),
      questions: ofType(events, 'elicitation_request'),
    };
  } finally {
    await host.close();
  }
}

async function* watched(run: AsyncIterable<AgentEvent>, see: (event: AgentEvent) => void): AsyncGenerator<AgentEvent> {
  for await (const event of run) {
    see(event);
    yield event;
  }
}

/** What a response says to the model. */
export const textOf = (response: AgentEvent<'tool_response'> | undefined): string =>
  (response?.llmContent ?? []).map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join('');

/** What the model was told in its last request, in order: `{ id, response }` of each function response. */
export const told = (model: ScriptedModel): { id: string; name: string; response: unknown }[] =>
  (model.requests.at(-1)?.messages ?? []).flatMap((message) =>
    message.content.flatMap((part) =>
      part.type === 'function_response' ? [{ id: part.id, name: part.name, response: part.response }] : [],
    ),
  );
