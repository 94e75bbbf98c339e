import type { ModelInterface, ModelRequest, ModelResponse, ModelToolCall } from '../../src/contracts/index.js';
import { ModelError } from '../../src/kernel/errors.js';
import type { Step } from './plan.js';
import type { World } from './world.js';

/** The steps of each agent, by its name. */
export type Lines = Map<string, (step: number, request: ModelRequest) => Line>;

/** What one answer says, without its faults. */
export interface Line {
  text?: string;
  refusal?: string;
  calls?: ModelToolCall[];
  fails?: { code: string; retryable: boolean };
}

/** How many results its calls of this conversation have had: the same for the same history, in any process. */
export const stepOf = ({ messages }: ModelRequest): number =>
  messages.filter(({ content }) => content.some((part) => part.type === 'function_response')).length;

export function lineOf(step: Step | undefined, name: string): Line {
  switch (step?.does) {
    case undefined:
      return { text: `${name} is done` };
    case 'call':
      return { text: 'one moment', calls: step.tools.map((tool) => ({ name: tool, args: { by: name } })) };
    case 'broken':
      return { calls: [{ name: 'look', args: {}, brokenArgs: '{"by": "' }] };
    case 'refuse':
      return { refusal: 'no' };
    case 'fail':
      return { fails: { code: 'INVALID_ARGUMENT', retryable: false } };
    case 'exit':
      return { calls: [{ name: 'exit_loop', args: {} }] };
  }
}

/** A model of one process: it answers by what the request says, when the world lets it, and fails as the world draws. */
export function simModel(world: World, lines: Lines): ModelInterface {
  const { pick, plan, life } = world;

  async function* answer(request: ModelRequest): AsyncGenerator<ModelResponse> {
    const agent = request._meta?.agent ?? 'nobody';
    if (request._meta?.purpose !== 'turn') world.trace(`model for ${request._meta?.purpose}`);
    const step = stepOf(request);
    world.trace(`model ${request._meta?.threadId ?? 'root'} ${agent} step ${step}`);
    const fault = pick.chance(plan.modelFaults) ? pick.of(FAULTS) : undefined;
    if (fault !== undefined) world.trace(`  fault ${fault}`);
    await world.sleep(pick.of([0, 0, 1, 5, 50]), fault === 'deaf' ? undefined : request.signal);
    const line = lines.get(agent)?.(step, request) ?? { text: 'who?' };
    const most = Math.min(5, request.config?.maxOutputTokens ?? 5);
    const usage = { inputTokens: pick.int(1, 20), outputTokens: pick.int(0, most) };
    switch (fault) {
      case 'busy':
        throw new ModelError({
          code: 'RESOURCE_EXHAUSTED',
          message: 'slow down',
          retryable: true,
          retryAfterMs: pick.int(0, 3_000),
        });
      case 'down':
        throw new ModelError({ code: 'UNAVAILABLE', message: 'down', retryable: true });
      case 'bad':
        throw new ModelError({ code: 'INVALID_ARGUMENT', message: 'bad request' });
      case 'thrown':
        throw new TypeError('x is not a function');
      case 'stall':
        await world.sleep(600_000, request.signal);
        throw new ModelError({ code: 'DEADLINE_EXCEEDED', message: 'no answer', retryable: true });
      case 'deaf':
        await world.sleep(60_000, undefined);
        break;
      case 'empty':
        yield { content: [], usage, finishReason: 'stop' };
        return;
      case 'nothing':
        return;
      case 'malformed':
        yield { content: [], usage, finishReason: 'malformed' };
        return;
      case 'cut':
        yield { content: [{ type: 'text', text: 'I was going to ' }] };
        await world.sleep(1, request.signal);
        throw new ModelError({ code: 'UNAVAILABLE', message: 'cut off', retryable: true });
      case 'no_calls':
        yield { content: [{ type: 'text', text: 'calling' }], usage, finishReason: 'tool_calls' };
        return;
      default:
    }
    if (life.isDead) await new Promise(() => {});
    if (line.fails) throw new ModelError({ ...line.fails, message: 'as it was written' });
    if (line.text !== undefined) {
      const pieces = pick.chance(0.3) ? [line.text.slice(0, 3), line.text.slice(3)] : [line.text];
      for (const text of pieces) {
        yield { content: [{ type: 'text', text }] };
        if (pick.chance(0.2)) await world.sleep(1, request.signal);
      }
    }
    const id = fault === 'same_ids' ? 'call' : undefined;
    const toolCalls = line.calls?.map((call) => ({ ...call, ...(id !== undefined && { id }) }));
    yield {
      content: line.refusal === undefined ? [] : [{ type: 'refusal', text: line.refusal }],
      ...(toolCalls !== undefined && { toolCalls }),
      usage,
      finishReason: line.refusal !== undefined ? 'refusal' : toolCalls !== undefined ? 'tool_calls' : 'stop',
    };
  }

  return {
    generateStream: answer,
    async generate(request) {
      const whole: ModelResponse = { content: [] };
      for await (const { content, ...rest } of answer(request)) {
        whole.content.push(...content);
        Object.assign(whole, rest);
      }
      return whole;
    },
  };
}

const FAULTS = [
  'busy',
  'busy',
  'down',
  'down',
  'bad',
  'thrown',
  'stall',
  'deaf',
  'empty',
  'nothing',
  'malformed',
  'cut',
  'no_calls',
  'same_ids',
] as const;
