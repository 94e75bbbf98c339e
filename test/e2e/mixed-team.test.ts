import { LlmAgent, type LlmRequest } from '@google/adk';
import { afterEach, expect, test } from 'vitest';
import type {
  AgentEvent,
  AgentEventDraft,
  AgentResponse,
  AgentSession,
  ModelRequest,
  SessionProvider,
  SessionStreamData,
} from '../../src/contracts/index.js';
import { agent, createHost, type Host, memoryStore, parallel, type Run, tool, transfer } from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { serveA2a } from '../../src/surfaces/a2a.js';
import { type Script, type ScriptEntry, scriptedModel, validateLog } from '../../src/testing/index.js';
import { ScriptedLlm } from '../executors/adk/scripted-llm.js';
import { answersIn, storeWith } from '../support/broken-log.js';
import { collect, deferred, logOf, ofType, textIn } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A peer behind real HTTP; `ran` has what its tool was called for. */
async function peer(script: Script) {
  const ran: string[] = [];
  const book = tool({
    name: 'book',
    description: 'Books.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_, { requestId }) => ran.push(requestId) && 'booked',
  });
  const host = createHost({ models: { scripted: scriptedModel(script) } });
  const server = await serveA2a(host, agent({ name: 'travel', tools: [book] }));
  closing.push(
    () => host.close(),
    () => server.close(),
  );
  return { url: server.cardUrl, ran };
}

const booksOnce: Script = (request) =>
  answersIn(request).length === 0 ? { toolCalls: [{ name: 'book', args: {} }] } : { text: 'remote is done' };

const hasAnswer = (text: string) => text.includes('functionResponse') || text.includes('function_response');

/** A model of ADK that writes once, told by what it is sent: as models do. */
class WritingLlm extends ScriptedLlm {
  constructor() {
    super([]);
  }
  override async *generateContentAsync(request: LlmRequest) {
    const isDone = hasAnswer(JSON.stringify(request.contents));
    const parts = isDone
      ? [{ text: 'adk is done' }]
      : [{ functionCall: { id: 'adk-call', name: 'write', args: { by: 'adk' } } }];
    yield { content: { role: 'model', parts }, turnComplete: true };
  }
}

/** Another's session, of a service that keeps the conversation: it writes once, then says that it is done. */
function writingSession(): AgentSession {
  async function* answer(data: SessionStreamData): AsyncGenerator<AgentEventDraft> {
    if (data.kind === 'message') {
      yield {
        type: 'tool_request',
        requestId: 'own',
        name: 'write',
        args: { by: 'foreign' },
        messageId: 'm',
        index: 0,
      };
      return;
    }
    yield { type: 'message', messageId: 'n', role: 'agent', content: [{ type: 'text', text: 'foreign is done' }] };
    yield { type: 'stream_end', reason: 'completed' };
  }
  return {
    stream(data) {
      const stream = answer(data) as unknown as AgentResponse['stream'];
      return { stream, controller: { abort: () => void stream.return() } };
    },
    update() {},
    steer() {},
    abort() {},
  };
}

interface Crew {
  host: Host;
  team: ReturnType<typeof crewOf>;
  wrote: string[];
  asked: ModelRequest[];
}

const crewOf = (cardUrl: string, wrote: string[]) => {
  const write = tool({
    name: 'write',
    description: 'Writes.',
    parameters: { type: 'object' },
    execute: (args) => wrote.push(String((args as { by: unknown }).by)) && 'written',
  });
  return parallel({
    name: 'crew',
    children: [
      agent({ name: 'local' }),
      agent({
        name: 'google',
        executor: 'adk',
        backend: { agent: new LlmAgent({ name: 'google', model: new WritingLlm() }) },
        tools: [write],
      }),
      agent({ name: 'far', executor: 'remote', backend: { cardUrl } }),
      agent({ name: 'guest', executor: 'theirs', capabilities: ['host_tool_execution'], tools: [write] }),
    ],
  });
};

function makeCrew(cardUrl: string, store: SessionProvider): Crew {
  const wrote: string[] = [];
  const model = scriptedModel(() => ({ text: 'local is done' }));
  const host = createHost({
    models: { scripted: model },
    store,
    policy: [{ rules: [{ toolName: 'far', decision: 'allow', context: { opaque: true } }] }],
  });
  closing.push(() => host.close());
  host.registerExecutor('theirs', writingSession);
  return { host, team: crewOf(cardUrl, wrote), wrote, asked: model.requests as ModelRequest[] };
}

/** Reads a run, and lets `see` act on each event. */
const read = (run: Run, see: (event: AgentEvent) => void = () => {}) =>
  (async function* () {
    for await (const event of run) {
      see(event);
      yield event;
    }
  })();

const accept = (run: Run) => (event: AgentEvent) => {
  if (event.type === 'elicitation_request') run.respond(event.requestId, { action: 'accept' });
};
const threads = ['local_1', 'google_2', 'far_3', 'guest_4'];
const endsIn = (events: readonly AgentEvent[]) =>
  Object.fromEntries(ofType(events, 'stream_end').map(({ threadId = 'root', reason }) => [threadId, reason]));
const allEnd = (reason: string) => Object.fromEntries(['root', ...threads].map((thread) => [thread, reason]));
const saidBy = (events: readonly AgentEvent[], thread: string) =>
  textIn(events.filter(({ threadId }) => threadId === thread));

test('a local, an ADK, an A2A and a foreign agent complete side by side in one log, with approvals in two of them', async () => {
  const { url, ran } = await peer(booksOnce);
  const store = memoryStore();
  const { host, team, wrote } = makeCrew(url, store);
  const run = host.run(team, 'go', { sessionId: 's' });
  const events = await collect(read(run, accept(run)));
  expect(endsIn(events)).toEqual(allEnd('completed'));
  expect(threads.map((thread) => saidBy(events, thread))).toEqual([
    'local is done',
    'adk is done',
    'remote is done',
    'foreign is done',
  ]);
  expect(
    ofType(events, 'elicitation_request')
      .map(({ agentId }) => agentId)
      .sort(),
  ).toEqual(['google', 'guest']);
  expect(wrote.toSorted()).toEqual(['adk', 'foreign']);
  expect(ran).toHaveLength(1);
  const log = await logOf(store, 's');
  expect(validateLog(log, { finished: true })).toEqual([]);
  expect(endsIn(log)).toEqual(allEnd('completed'));
  expect((await run.result).ok).toBe(true);
});

test('aborted while two wait for approval and the peer works: all end in order, nothing runs, the peer is cancelled', async () => {
  const working = deferred();
  const cancelled = deferred();
  const { url, ran } = await peer(
    ({ signal }) =>
      new Promise<ScriptEntry>((resolve) => {
        working.resolve();
        signal?.addEventListener('abort', () => {
          cancelled.resolve();
          resolve({ text: 'too late' });
        });
      }),
  );
  const { host, team, wrote } = makeCrew(url, memoryStore());
  const run = host.run(team, 'go');
  let open = 0;
  const events = await collect(
    read(run, ({ type }) => {
      if (type === 'elicitation_request' && ++open === 2) void working.promise.then(() => run.abort('enough'));
    }),
  );
  await cancelled.promise;
  const { local_1, ...others } = endsIn(events);
  expect(local_1).toBe('completed');
  expect(others).toEqual({ root: 'aborted', google_2: 'aborted', far_3: 'aborted', guest_4: 'aborted' });
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted' });
  expect(ofType(events, 'stream_end').filter(({ data }) => data?.forced)).toEqual([]);
  expect(ofType(events, 'elicitation_response').map(({ action }) => action)).toEqual(['cancel', 'cancel']);
  expect(ofType(events, 'tool_response').map(({ errorType }) => errorType)).toEqual(['cancelled', 'cancelled']);
  expect([wrote, ran]).toEqual([[], []]);
});

/** The log of a whole run, and how often each thing was done in it. */
async function wholeRun() {
  const { url, ran } = await peer(booksOnce);
  const store = memoryStore();
  const { host, team } = makeCrew(url, store);
  const run = host.run(team, 'go', { sessionId: 's' });
  await collect(read(run, accept(run)));
  return { log: await logOf(store, 's'), url, ran };
}

test('killed with both approvals open, it goes on from its one log in another host: nothing is done twice', async () => {
  const { url, ran } = await peer(booksOnce);
  const first = memoryStore();
  const before = makeCrew(url, first);
  const going = before.host.run(before.team, 'go', { sessionId: 's' });
  const waiting = deferred();
  let open = 0;
  let isFarDone = false;
  const seen = collect(
    read(going, (event) => {
      if (event.type === 'elicitation_request') open++;
      if (event.type === 'agent_completed' && event.threadId === 'far_3') isFarDone = true;
      if (open === 2 && isFarDone) waiting.resolve();
    }),
  );
  await waiting.promise;
  const log = await logOf(first, 's');
  const store = await storeWith(log, { id: 's', agentName: 'crew' });
  going.abort();
  await seen;

  const { host, team, wrote, asked } = makeCrew(url, store);
  const run = await host.resume('s', { agent: team });
  // The guest keeps its conversation itself: it begins anew, and asks again.
  expect(run.state().pending.map(({ agentId }) => agentId)).toEqual(['google']);
  for await (const event of read(run, accept(run))) void event;
  expect(await run.result).toMatchObject({ ok: true });
  expect([before.wrote, wrote.toSorted(), ran.length, asked.length]).toEqual([[], ['adk', 'foreign'], 1, 0]);
  const whole = await logOf(store, 's');
  expect(validateLog(whole, { finished: true })).toEqual([]);
  expect(endsIn(whole)).toEqual(allEnd('completed'));
  const answers = ofType(whole, 'elicitation_response').map(({ agentId, action }) => `${agentId} ${action}`);
  expect(answers.toSorted()).toEqual(['google accept', 'guest accept', 'guest cancel']);
});

test('cut behind any event of its log it goes on to an end, and what was written is not written again', async () => {
  const { log, url, ran } = await wholeRun();
  const firstOf = log.findIndex(({ type }) => type === 'message') + 1;
  for (let cut = firstOf; cut < log.length; cut++) {
    const part = log.slice(0, cut);
    const at = `behind event ${cut}: ${part.at(-1)?.threadId ?? 'root'} ${part.at(-1)?.type}`;
    const store = await storeWith(part, { id: 's', agentName: 'crew' });
    const { host, team, wrote, asked } = makeCrew(url, store);
    const ranBefore = ran.length;
    const run = await host.resume('s', { agent: team });
    for await (const event of run) {
      if (event.type !== 'elicitation_request') continue;
      const isRecovery = event.kind === 'tool_recovery';
      const content = { outcome: 'result', result: 'written' };
      run.respond(event.requestId, { action: 'accept', ...(isRecovery && { content }) });
    }
    expect(await run.result, at).toMatchObject({ reason: 'completed' });
    const started = part.flatMap((event) =>
      event.type === 'custom' && event.kind === 'tool_started' ? [event.agentId === 'google' ? 'adk' : 'foreign'] : [],
    );
    expect([...started, ...wrote].toSorted(), at).toEqual(['adk', 'foreign']);
    // Whoever had ended is not asked again.
    const hasEnded = (thread: string) => part.some((one) => one.type === 'stream_end' && one.threadId === thread);
    expect(asked, at).toHaveLength(hasEnded('local_1') ? 0 : 1);
    expect(ran.length - ranBefore, at).toBe(hasEnded('far_3') ? 0 : 1);
    const whole = await logOf(store, 's');
    // What the guest had written by then it does not write again: it keeps its conversation itself, and cannot go on.
    const isLost = started.includes('foreign') && !hasEnded('guest_4');
    expect(endsIn(whole), at).toEqual({ ...allEnd('completed'), ...(isLost && { guest_4: 'failed' }) });
    expect(validateLog(whole, { finished: true }), at).toEqual([]);
    await host.close();
  }
});

test('a conversation goes from a local agent to an ADK agent and back, and each sees a well-formed history', async () => {
  const handOver = (id: string, target: string): ScriptEntry => ({
    text: `over to ${target}`,
    toolCalls: [{ id, name: 'transfer_to_agent', args: { target, reason: 'your turn' } }],
  });
  const llm = new ScriptedLlm([{ toolCalls: [{ id: 'look-1', name: 'look', args: {} }] }, handOver('t2', 'front')]);
  const model = scriptedModel([handOver('t1', 'google'), { text: 'all is done' }]);
  const look = tool({ name: 'look', description: 'Looks.', annotations: { readOnly: true }, execute: () => 'seen' });
  const desk = transfer({
    name: 'desk',
    members: [
      agent({ name: 'front' }),
      agent({
        name: 'google',
        executor: 'adk',
        backend: { agent: new LlmAgent({ name: 'google', model: llm }) },
        tools: [look],
      }),
    ],
    start: 'front',
  });
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(desk, 'I was charged twice.');
  const events = await collect(run);
  expect(ofType(events, 'agent_transfer').map(({ from, to }) => [from, to])).toEqual([
    ['front', 'google'],
    ['google', 'front'],
  ]);
  expect((await run.result).text).toBe('all is done');
  for (const { messages } of model.requests) expect(findBrokenPairs(messages)).toEqual([]);
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('I was charged twice.');
  expect(JSON.stringify(llm.requests[0]?.contents)).toContain('I was charged twice.');
  for (const { contents } of llm.requests) {
    const calls = contents.flatMap(({ parts = [] }) => parts.flatMap((part) => part.functionCall?.name ?? []));
    const answers = contents.flatMap(({ parts = [] }) => parts.flatMap((part) => part.functionResponse?.name ?? []));
    expect(answers).toEqual(calls);
  }
});

test('each of the four begins with what it can really do', async () => {
  const { url } = await peer(booksOnce);
  const { host, team } = makeCrew(url, memoryStore());
  const run = host.run(team, 'go');
  const events = await collect(read(run, accept(run)));
  const able = new Map(ofType(events, 'initialize').map(({ agentId, capabilities }) => [agentId, capabilities]));
  expect(able.get('local')).toContain('mid_stream_update');
  expect(able.get('google')).toEqual(expect.arrayContaining(['host_tool_execution', 'usage']));
  expect(able.get('google')).not.toContain('mid_stream_update');
  expect(able.get('far')).toEqual(expect.arrayContaining(['streaming', 'cancellation']));
  expect(able.get('far')).not.toContain('host_tool_execution');
  expect(able.get('guest')).toEqual(['host_tool_execution']);
});
