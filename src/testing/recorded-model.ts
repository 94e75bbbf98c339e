import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import type { ModelInterface, ModelRequest, ModelResponse } from '../contracts/index.js';
import { describeError, ModelError, TroupeError } from '../kernel/errors.js';
import { canonicalJson } from '../kernel/json-value.js';
import { withoutSecrets } from './secrets.js';

const FORMAT = 'troupe-model-recording';
const VERSION = 1;

interface RecordedError {
  code: string;
  message: string;
  retryable: boolean;
  retryAfterMs?: number;
  status?: number;
}

/** One model call: what identifies its request, for a reader what was said last, and the answer in its increments. */
interface RecordedCall {
  agent: string;
  request: string;
  said: string;
  increments: ModelResponse[];
  error?: RecordedError;
  /** Its signal cut it off behind these increments. */
  isCut?: true;
}

/**
 * Passes every call on to `model` and writes it to `file` (JSON lines, mode 0600, begun anew), in the order in which the
 * calls ended. What looks like a key or a token is replaced before it is written. A call that was cut off by its signal is
 * kept as far as it came. A file that cannot be written fails the call with `RECORDING_FAILED`.
 */
export function recordModel(model: ModelInterface, options: { file: string }): ModelInterface {
  const traits = traitsOf(model);
  let writing: Promise<void> | undefined;
  const write = (call: RecordedCall): Promise<void> => {
    const line = `${withoutSecrets(JSON.stringify(call))}\n`;
    const begun = writing ?? begin(options.file, traits);
    writing = begun.then(() => appendFile(options.file, line));
    // Told to the call that wrote; the next one tries again.
    return writing.catch((thrown) => {
      writing = undefined;
      throw new ModelError({
        code: 'RECORDING_FAILED',
        message: `cannot write ${options.file}: ${describeError(thrown).message}`,
        cause: thrown,
      });
    });
  };
  const keep = async (request: ModelRequest, increments: ModelResponse[], thrown?: unknown): Promise<void> => {
    const call: RecordedCall = { ...identify(request), increments: increments.map(withoutRaw) };
    if (request.signal?.aborted) call.isCut = true;
    else if (thrown !== undefined) call.error = errorOf(thrown);
    await write(call);
  };
  return {
    ...traits,
    async generate(request) {
      let response: ModelResponse;
      try {
        response = await model.generate(request);
      } catch (thrown) {
        await keep(request, [], thrown);
        throw thrown;
      }
      await keep(request, [response]);
      return response;
    },
    async *generateStream(request) {
      const increments: ModelResponse[] = [];
      let isOver = false;
      try {
        for await (const increment of model.generateStream(request)) {
          increments.push(increment);
          yield increment;
        }
        isOver = true;
      } catch (thrown) {
        isOver = true;
        await keep(request, increments, thrown);
        throw thrown;
      } finally {
        // Whoever has ended a call reads no further.
        if (!isOver && request.signal?.aborted) await keep(request, increments);
      }
      await keep(request, increments);
    },
  };
}

const begin = (file: string, traits: Traits): Promise<void> =>
  writeFile(file, `${JSON.stringify({ format: FORMAT, version: VERSION, ...traits })}\n`, { mode: 0o600 });

/** How the usage of a model is to be read. How it counts ahead is left out: that is asked of its provider. */
type Traits = Pick<ModelInterface, 'reportsCost' | 'countsThoughtsAsOutput'>;

const traitsOf = ({ reportsCost, countsThoughtsAsOutput }: Traits): Traits => ({
  ...((reportsCost === 'always' || reportsCost === 'where_it_costs') && { reportsCost }),
  ...(countsThoughtsAsOutput === true && { countsThoughtsAsOutput }),
});

/** Of the model that was recorded; nothing where the file is none, which its first call tells. */
function recordedTraits(file: string): Traits | undefined {
  try {
    const [head = ''] = readFileSync(file, 'utf8').split('\n', 1);
    return traitsOf((parsed(head) ?? {}) as Traits);
  } catch {
    return undefined;
  }
}

export interface ReplayedModel extends ModelInterface {
  /** Throws `RECORDING_NOT_CONSUMED`, naming the calls that were recorded and not made. */
  assertConsumed(): void;
}

/**
 * Answers as `recordModel` wrote it down: the same request gets the same answer, in whatever order agents ask; the same
 * request asked again gets the next answer to it. Ids of calls do not count. A request that was not recorded fails with
 * `UNRECORDED_CALL`, which is not retryable, and so does one that was cut off where it was recorded, unless it is again.
 * A file that is no recording: `INVALID_RECORDING` at the first call.
 */
export function replayModel(options: { file: string }): ReplayedModel {
  let reading: Promise<Map<string, RecordedCall[]>> | undefined;
  let calls: Map<string, RecordedCall[]> | undefined;
  let read: Traits | undefined;
  const traits = (): Traits => {
    read ??= recordedTraits(options.file);
    return read ?? {};
  };
  const take = async (request: ModelRequest): Promise<RecordedCall> => {
    reading ??= readRecording(options.file);
    calls = await reading;
    if (request.signal?.aborted) throw new ModelError({ code: 'CANCELLED', message: 'cancelled' });
    const identity = identify(request);
    const call = calls.get(keyOf(identity))?.shift();
    if (call !== undefined) return call;
    const left = [...calls.values()].flat().filter(({ agent }) => agent === identity.agent);
    const next = left[0] === undefined ? 'no call of it is left' : `the next one recorded said ${left[0].said}`;
    throw new ModelError({
      code: 'UNRECORDED_CALL',
      message: `${options.file} has no answer to what ${identity.agent} asks (last said: ${identity.said}); ${next}`,
    });
  };
  return {
    get reportsCost() {
      return traits().reportsCost;
    },
    get countsThoughtsAsOutput() {
      return traits().countsThoughtsAsOutput;
    },
    async generate(request) {
      const call = await take(request);
      if (call.isCut) await untilCut(request, options.file);
      if (call.error !== undefined) throw new ModelError(call.error);
      return joined(call.increments);
    },
    async *generateStream(request) {
      const call = await take(request);
      yield* call.increments;
      if (call.isCut) await untilCut(request, options.file);
      if (call.error !== undefined) throw new ModelError(call.error);
    },
    assertConsumed() {
      const left = [...(calls?.values() ?? [])].flat();
      if (calls !== undefined && left.length === 0) return;
      const what =
        calls === undefined ? 'no call was made' : left.map(({ agent, said }) => `${agent}: ${said}`).join('; ');
      throw new TroupeError({ code: 'RECORDING_NOT_CONSUMED', message: `${options.file}: not replayed: ${what}` });
    },
  };
}

const LONGEST_WAIT_MS = 5_000;

/** A call that was cut off is so again: by its signal, which is waited for. Rejects always. */
async function untilCut({ signal }: ModelRequest, file: string): Promise<never> {
  const isCut = await new Promise<boolean>((resolve) => {
    if (signal === undefined || signal.aborted) return resolve(signal?.aborted === true);
    const over = (how: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve(how);
    };
    const onAbort = () => over(true);
    const timer = setTimeout(() => over(false), LONGEST_WAIT_MS);
    signal.addEventListener('abort', onAbort);
  });
  if (isCut) throw new ModelError({ code: 'CANCELLED', message: 'cancelled' });
  throw new ModelError({
    code: 'UNRECORDED_CALL',
    message: `${file} does not say how this call goes on: it was cut off there when it was recorded, and is not now`,
  });
}

async function readRecording(file: string): Promise<Map<string, RecordedCall[]>> {
  const invalid = (why: string, cause?: unknown) =>
    new TroupeError({ code: 'INVALID_RECORDING', message: `${file} is no recording of a model: ${why}`, cause });
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (thrown) {
    throw invalid(describeError(thrown).message, thrown);
  }
  const calls = new Map<string, RecordedCall[]>();
  for (const [at, line] of text.split('\n').entries()) {
    const value = parsed(line);
    if (at === 0) {
      if (value?.format !== FORMAT) throw invalid('its first line does not say so');
      if (value.version !== VERSION) throw invalid(`its version is ${String(value.version)}, this is ${VERSION}`);
      continue;
    }
    if (line === '') continue;
    const { agent, request, said, increments } = value ?? {};
    const isCall = [agent, request, said].every((one) => typeof one === 'string') && Array.isArray(increments);
    if (!isCall) throw invalid(`line ${at + 1} is no call`);
    const call = value as unknown as RecordedCall;
    const same = calls.get(keyOf(call));
    if (same === undefined) calls.set(keyOf(call), [call]);
    else same.push(call);
  }
  return calls;
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

type Identity = Pick<RecordedCall, 'agent' | 'request' | 'said'>;
const keyOf = ({ agent, request }: Identity) => `${agent}\n${request}`;

/** What makes two requests the same: who asks, and all that the model would see, save ids. */
function identify({ systemInstruction, messages, tools, outputSchema, config, _meta }: ModelRequest): Identity {
  const seen = {
    systemInstruction,
    messages: messages.map(({ role, content }) => ({ role, content: content.map(withoutId) })),
    tools: tools?.map(({ name }) => name),
    outputSchema,
    config,
  };
  const text = withoutSecrets(canonicalJson(seen));
  const last = messages.at(-1)?.content.at(-1);
  return {
    agent: _meta?.agent ?? '',
    request: createHash('sha256').update(text).digest('hex'),
    said: withoutSecrets(canonicalJson(last ?? null)).slice(0, 200),
  };
}

function withoutId(part: object): object {
  const { id, ...rest } = part as { id?: unknown };
  return rest;
}

function withoutRaw(response: ModelResponse): ModelResponse {
  const { _raw, ...rest } = response;
  return rest;
}

function errorOf(thrown: unknown): RecordedError {
  const { code, message } = describeError(thrown, 'MODEL_FAILED');
  if (!(thrown instanceof ModelError)) return { code, message, retryable: false };
  const { retryable, retryAfterMs, status } = thrown;
  return {
    code,
    message,
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(status !== undefined && { status }),
  };
}

/** Increments as one answer. */
function joined(increments: readonly ModelResponse[]): ModelResponse {
  const whole: ModelResponse = { content: [] };
  for (const { content, toolCalls, usage, finishReason } of increments) {
    whole.content.push(...content);
    if (toolCalls !== undefined) whole.toolCalls = [...(whole.toolCalls ?? []), ...toolCalls];
    if (usage !== undefined) whole.usage = { ...whole.usage, ...usage };
    if (finishReason !== undefined) whole.finishReason = finishReason;
  }
  return whole;
}
