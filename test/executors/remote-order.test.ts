import { TaskState } from '@a2a-js/sdk';
import { beforeAll, expect, test } from 'vitest';
import type { AgentEventDraft } from '../../src/contracts/index.js';
import { TaskReader } from '../../src/executors/remote/task-reader.js';
import { agent, createHost, type Run } from '../../src/index.js';
import { virtualClock } from '../../src/testing/index.js';
import { collect, ofType, settle, textIn } from '../support/team.js';

// Loaded late otherwise, which takes time of its own.
beforeAll(() => Promise.all([import('@a2a-js/sdk'), import('@a2a-js/sdk/client')]));

const FAR = 'http://far.test/';
const CARD = {
  name: 'peer',
  description: 'p',
  version: '1',
  supportedInterfaces: [{ url: FAR, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
};

const ids = { taskId: 't1', contextId: 'c1' };
const said = (text: string, messageId = text) => ({ messageId, role: 'ROLE_AGENT', parts: [{ text }], ...ids });
const task = (state = 'WORKING', more: object = {}) => ({
  task: { id: 't1', contextId: 'c1', status: { state: `TASK_STATE_${state}` }, ...more },
});
const status = (state: string, message?: object) => ({
  statusUpdate: { ...ids, status: { state: `TASK_STATE_${state}`, ...(message && { message }) } },
});
const artifact = (artifactId: string, parts: object[], append = false) => ({
  artifactUpdate: { ...ids, artifact: { artifactId, parts }, append },
});
const text = (value: string) => ({ text: value });
const done = status('COMPLETED');

type How = 'ends' | 'breaks' | 'stays open';
interface Answer {
  events: object[];
  how?: How;
}

/** Runs against a peer that gives `answers`, in turn; every question is answered with `content`. */
async function ask(answers: Answer[], content: Record<string, unknown> = { answer: 'ok' }) {
  const methods: string[] = [];
  const fetches = (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    if (String(input).endsWith('.json'))
      return Promise.resolve(new Response(JSON.stringify(CARD), { headers: { 'content-type': 'application/json' } }));
    const { id, method } = JSON.parse(String(init.body)) as { id: number; method: string };
    methods.push(method);
    const { events, how = 'ends' } = answers.shift() ?? { events: [] };
    const [first] = events;
    if (method === 'GetTask') {
      const result = (first as { task?: object } | undefined)?.task;
      const error = { code: -32001, message: 'no such task' };
      return Promise.resolve(Response.json({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }));
    }
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        init.signal?.addEventListener('abort', () => controller.error(init.signal?.reason));
        for (const result of events)
          controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`));
        if (how === 'ends') controller.close();
        // What was said before a break arrives before it.
        if (how === 'breaks') await settle(20).then(() => controller.error(new Error('broken off')));
      },
    });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  };
  const clock = virtualClock();
  await using host = createHost({
    clock,
    policy: [{ rules: [{ toolName: 'far', decision: 'allow' as const, context: { opaque: true } }] }],
  });
  const far = agent({ name: 'far', executor: 'remote', backend: { cardUrl: FAR, fetch: fetches } });
  const run = host.run(far, 'go') as Run;
  let isOver = false;
  const reading = collect(
    (async function* () {
      for await (const event of run) {
        if (event.type === 'elicitation_request') run.respond(event.requestId, { action: 'accept', content });
        yield event;
      }
    })(),
  ).finally(() => {
    isOver = true;
  });
  for (let at = 0; at < 100 && !isOver; at++) {
    await settle();
    await clock.advance(100);
  }
  const events = await reading;
  const questions = ofType(events, 'elicitation_request');
  return { events, methods, questions, text: textIn(events), result: await run.result, clock };
}

test('a message in the midst of a task is a word on the way, not its end', async () => {
  const {
    result,
    text: words,
    methods,
  } = await ask([{ events: [task(), { message: said('hmm') }], how: 'breaks' }, { events: [] }]);
  expect(result).toMatchObject({ ok: false, reason: 'failed' });
  expect(words).toBe('hmm');
  expect(methods).toEqual(['SendStreamingMessage', 'SubscribeToTask', 'GetTask']);
});

test.each([
  ['INPUT_REQUIRED', 'clarification', { answer: 'ok' }],
  ['AUTH_REQUIRED', 'auth_required', { credential: 'pass' }],
])('a peer that leaves its stream open at %s is asked for all that, and left', async (state, kind, content) => {
  const { result, questions, methods, clock } = await ask(
    [
      { events: [task(), status(state, said('Which?'))], how: 'stays open' },
      { events: [status('COMPLETED', said('done'))] },
    ],
    content,
  );
  expect(questions).toMatchObject([{ kind, message: 'Which?' }]);
  expect(methods).toEqual(['SendStreamingMessage', 'SendStreamingMessage']);
  expect(result).toMatchObject({ ok: true, text: 'done' });
  expect(clock.pending).toBe(0);
});

test('a question that the peer takes back in the same breath is not asked', async () => {
  const { result, questions } = await ask([
    {
      events: [task(), status('AUTH_REQUIRED', said('Log in.')), status('WORKING'), status('COMPLETED', said('done'))],
    },
  ]);
  expect([questions, result.text]).toEqual([[], 'done']);
});

test('what is taken back and stands again when the task is looked at is asked', async () => {
  const question = { state: 'TASK_STATE_INPUT_REQUIRED', message: said('Which?') };
  const { result, questions } = await ask([
    { events: [task(), status('INPUT_REQUIRED', said('Which?')), status('WORKING')] },
    { events: [] },
    { events: [{ task: { id: 't1', contextId: 'c1', status: question } }] },
    { events: [status('COMPLETED', said('done'))] },
  ]);
  expect([questions.length, result.text]).toEqual([1, 'done']);
});

test('a question without an id may be asked again once the task has gone on; one with an id may not', async () => {
  const unnamed = await ask([
    { events: [task(), status('INPUT_REQUIRED')] },
    { events: [status('WORKING'), status('INPUT_REQUIRED')] },
    { events: [status('COMPLETED', said('done'))] },
  ]);
  expect([unnamed.questions.length, unnamed.result.text]).toEqual([2, 'done']);
  expect(new Set(unnamed.questions.map(({ requestId }) => requestId)).size).toBe(2);
  const named = await ask([
    { events: [task(), status('INPUT_REQUIRED', said('Which?', 'q'))] },
    {
      events: [status('INPUT_REQUIRED', said('Which?', 'q')), status('WORKING'), status('COMPLETED', said('done'))],
    },
  ]);
  expect([named.questions.length, named.result.text]).toEqual([1, 'done']);
});

test('an answer that comes after the task has ended by itself is told its end', async () => {
  const { result, questions } = await ask(
    [
      { events: [task(), status('AUTH_REQUIRED', said('Log in.'))], how: 'stays open' },
      { events: [], how: 'breaks' },
      { events: [] },
      { events: [task('COMPLETED', { artifacts: [{ artifactId: 'a', parts: [text('went on alone')] }] })] },
    ],
    { credential: 'pass' },
  );
  expect([questions.length, result.text]).toEqual([1, 'went on alone']);
});

test.each([
  [
    'every chunk from the first',
    [artifact('a', [text('one ')]), artifact('a', [text('two')], true), artifact('a', [text(' three')], true)],
  ],
  [
    'chunks that are cut otherwise',
    [artifact('a', [text('on')]), artifact('a', [text('e two th')], true), artifact('a', [text('ree')], true)],
  ],
  [
    'the whole so far',
    [
      task('WORKING', { artifacts: [{ artifactId: 'a', parts: [text('one two th')] }] }),
      artifact('a', [text('ree')], true),
    ],
  ],
  ['nothing but the rest', [artifact('a', [text(' three')], true)]],
])('a stream that breaks and is taken up with %s says everything once (B178)', async (_, again) => {
  const {
    text: words,
    result,
    events,
  } = await ask([
    { events: [task(), artifact('a', [text('one ')]), artifact('a', [text('two')], true)], how: 'breaks' },
    { events: [...again, done] },
  ]);
  expect([words, result.ok, result.text]).toEqual(['one two three', true, 'one two three']);
  const { size } = new Set(
    ofType(events, 'message')
      .filter(({ role }) => role === 'agent')
      .map(({ messageId }) => messageId),
  );
  expect(size).toBe(1);
});

test('an artifact that shrinks and grows is told by what is new; one that becomes another is told as another', async () => {
  const { text: words } = await ask([
    {
      events: [
        task(),
        artifact('a', [text('one two')]),
        artifact('a', [text('one')]),
        artifact('a', [text('one two three')]),
        done,
      ],
    },
  ]);
  expect(words).toBe('one two three');
  const { events } = await ask([
    {
      events: [
        task(),
        artifact('a', [text('one two')]),
        artifact('a', [text('one')]),
        artifact('a', [text(' more')], true),
        done,
      ],
    },
  ]);
  const messages = ofType(events, 'message').filter(({ role }) => role === 'agent');
  expect(messages.map(({ content }) => content)).toEqual(
    [[text('one two')], [text('one more')]].map((parts) => parts.map((part) => ({ type: 'text', ...part }))),
  );
});

test('pictures that come with a later form of an artifact are told, each once', async () => {
  const picture = (raw: string) => ({ raw, mediaType: 'image/png' });
  const { events } = await ask([
    {
      events: [
        task(),
        artifact('a', []),
        artifact('a', [picture('AAAA')]),
        artifact('a', [text('with words'), picture('AAAA'), picture('BBBB')]),
        task('WORKING', {
          artifacts: [{ artifactId: 'a', parts: [text('with words'), picture('AAAA'), picture('BBBB')] }],
        }),
        done,
      ],
    },
  ]);
  const parts = ofType(events, 'message')
    .filter(({ role }) => role === 'agent')
    .flatMap(({ content }) => content);
  expect(parts).toEqual([
    { type: 'media', mimeType: 'image/png', data: 'AAAA' },
    { type: 'text', text: 'with words' },
    { type: 'media', mimeType: 'image/png', data: 'BBBB' },
  ]);
});

test('a long answer in many pieces weighs what it says, and the same as a status is still told once', () => {
  const drafts: AgentEventDraft[] = [];
  const target = { publish: (draft: AgentEventDraft) => void drafts.push(draft), newMessageId: () => 'm' };
  const reader = new TaskReader(TaskState, target as never);
  const piece = {
    content: { $case: 'text' as const, value: 'x'.repeat(200) },
    metadata: undefined,
    filename: '',
    mediaType: '',
  };
  const more = (append: boolean) => {
    const one = { artifactId: 'a', name: '', description: '', parts: [piece], metadata: undefined, extensions: [] };
    reader.take({
      payload: {
        $case: 'artifactUpdate',
        value: { ...ids, artifact: one, append, lastChunk: false, metadata: undefined },
      },
    });
  };
  // The texts on the way add up to 40 GB.
  for (let at = 0; at < 20_000; at++) more(at > 0);
  const whole = { ...piece, content: { $case: 'text' as const, value: 'x'.repeat(4_000_000) } };
  const message = {
    messageId: 's',
    role: 2,
    parts: [whole],
    ...ids,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  const update = {
    ...ids,
    status: { state: TaskState.TASK_STATE_COMPLETED, message, timestamp: undefined },
    metadata: undefined,
  };
  reader.take({ payload: { $case: 'statusUpdate', value: update } });
  expect(drafts).toHaveLength(20_000);
  expect(reader.end).toMatchObject({ reason: 'completed' });
  expect(String(reader.end?.data?.result)).toHaveLength(4_000_000);
});
