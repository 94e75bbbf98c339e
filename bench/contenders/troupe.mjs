// Troupe complete: a host with a policy, a hook before each model call and each tool call, the log in the default
// (memory) store, and a consumer that reads every event. Built: `npm run build` at the top.
import { agent, createHost, defineHook, loop, parallel, sequential, tool } from '../../dist/src/index.js';
import { fileStore } from '../../dist/src/stores/file.js';
import {
  ANSWER,
  argsOf,
  CHAIN,
  CHUNK,
  CHUNKS,
  EVENTS,
  eventOf,
  LOOP,
  openPage,
  ownDirectory,
  PARTS,
  PROMPT,
  roundsIn,
  STUDIO_MODEL_MS,
  TOOL,
  TOOL_ROUNDS,
  waitFor,
} from '../work.mjs';

const answer = { content: [{ type: 'text', text: ANSWER }], finishReason: 'stop' };
const model = (generateStream) => ({
  generateStream,
  generate() {
    throw new Error('this model only streams');
  },
});

const answering = model(async function* () {
  yield answer;
});

const calling = model(async function* ({ messages }) {
  const round = roundsIn(messages.length);
  if (round >= TOOL_ROUNDS) yield answer;
  else yield { content: [], toolCalls: [{ name: TOOL.name, args: argsOf(round) }], finishReason: 'tool_calls' };
});

const chunking = model(async function* () {
  for (let i = 0; i < CHUNKS; i++) yield { content: [{ type: 'text', text: CHUNK }] };
  yield { content: [], finishReason: 'stop' };
});

/** Answers only when it is aborted. */
const waiting = (arrived) =>
  model(async function* ({ signal }) {
    const aborted = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    arrived();
    await aborted;
    yield answer;
  });

const policy = [{ tier: 'user', rules: [{ toolName: '*', decision: 'allow', priority: 100 }] }];
const hooks = ['before_model', 'before_tool'].map((point) => defineHook(point, async () => ({ action: 'proceed' })));

const host = (more) => createHost({ policy, hooks, appName: 'bench', ...more });
const one = (name, of = answering, more) => agent({ name, description: 'Answers.', model: of, ...more });
const children = (count, of) => Array.from({ length: count }, (_, i) => one(`agent_${i}`, of));

/** Reads a run to its end; resolves with how many of its events count. */
async function read(run, counts) {
  let seen = 0;
  for await (const event of run) if (counts(event)) seen++;
  const { ok, reason, data } = await run.result;
  if (!ok) throw new Error(`the run ended with ${reason}: ${JSON.stringify(data)}`);
  return seen;
}

const answers = (event) => event.type === 'message' && event.role === 'agent';
const results = (event) => event.type === 'tool_response' && !event.isError;

/** One run in a session of its own, which is deleted then: a store that grows from run to run would be measured too. */
const runs = (definition, counts = answers) => {
  const own = host();
  return async () => {
    const run = own.run(definition, PROMPT);
    const seen = await read(run, counts);
    await own.delete(run.sessionId);
    return seen;
  };
};

const lookUp = tool({
  name: TOOL.name,
  description: TOOL.description,
  parameters: TOOL.parameters,
  execute: async () => TOOL.result,
});

export const singleTurn = () => runs(one('one'));

export const toolRounds = () =>
  runs(one('one', calling, { tools: [lookUp], constraints: { maxTurns: TOOL_ROUNDS + 5 } }), results);

export const chain10 = () => runs(sequential({ name: 'chain', children: children(CHAIN) }));

export const loop100 = () => runs(loop({ name: 'loop', children: [one('one')], maxIterations: LOOP }));

/** Increments carry text; the event that closes a message may carry none. */
export const chunks10000 = () =>
  runs(one('one', chunking), (event) => answers(event) && event.content[0]?.text === CHUNK);

export const fanOut = (count) =>
  runs(parallel({ name: 'team', children: children(count), concurrency: count }), answers);

const open = (own, definition) => {
  const session = own.session(definition);
  return {
    session,
    async turn() {
      let seen = 0;
      for await (const event of session.stream({ kind: 'message', content: PROMPT }).stream) {
        if (answers(event)) seen++;
      }
      return seen;
    },
  };
};

const idle = (own) => {
  const definition = one('one');
  return async () => {
    const { session, turn } = open(own, definition);
    if ((await turn()) !== 1) throw new Error('no answer');
    return session;
  };
};

/** A store that keeps what it is given somewhere else: here, nowhere. */
const elsewhere = () => {
  const nothing = {
    [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
  };
  let made = 0;
  const handle = (id, agentName) => ({
    id,
    agentName,
    events: nothing,
    state: {},
    lastUpdateTime: '2026-01-01T00:00:00.000Z',
    append() {},
    snapshot: () => ({ id, agentName, events: [], state: {} }),
    close() {},
  });
  return {
    create: (agentName, metadata) => handle(metadata?.id ?? `session_${made++}`, agentName),
    load: (id) => handle(id, 'one'),
    list: () => [],
    delete() {},
  };
};

export const idleMemory = () => idle(host({ store: elsewhere() }));
export const idleMemoryWithLog = () => idle(host());

export const growth = () => {
  const own = host();
  const definition = one('one');
  return async () => open(own, definition).turn;
};

const inFiles = () => host({ store: fileStore({ dir: ownDirectory() }) });

/** The turns of one session, one after the other. */
export const durableTurn = () => open(inFiles(), one('one')).turn;

/** Resolves, for so many sessions at once, with ms for `turns` turns of each. */
export const durableTogether = () => {
  const own = inFiles();
  const definition = one('one');
  const all = [];
  return async (sessions, turns) => {
    while (all.length < sessions) all.push(open(own, definition).turn);
    const from = performance.now();
    const each = async (turn) => {
      for (let i = 0; i < turns; i++) if ((await turn()) !== 1) throw new Error('no answer');
    };
    await Promise.all(all.slice(0, sessions).map(each));
    return performance.now() - from;
  };
};

export const growthFile = () => {
  const own = inFiles();
  const definition = one('one');
  return async () => open(own, definition).turn;
};

/** Found, and read to its end. */
export const open10000 = async () => {
  const store = fileStore({ dir: ownDirectory() });
  const handle = await store.create('one', { id: 'long' });
  await Promise.all(Array.from({ length: EVENTS }, (_, index) => handle.append(eventOf(index + 1))));
  await handle.close();
  return async () => {
    let seen = 0;
    for await (const { seq } of (await store.load('long')).events) if (seq > 0) seen++;
    return seen;
  };
};

/**
 * One run with so many observers; resolves with its end and theirs, as `since` tells. Each must have seen all that the
 * consumer has.
 */
export const observed = () => {
  const own = host();
  const definition = one('one', chunking);
  return async (observers, since) => {
    const run = own.run(definition, PROMPT);
    const watching = Array.from({ length: observers }, () => countAll(own.attach(run.sessionId)));
    const consumed = await countAll(run);
    const { ok } = await run.result;
    const ended = since();
    const all = await Promise.all(watching);
    const drained = since();
    if (!ok || consumed < CHUNKS) throw new Error(`the consumer saw ${consumed} events`);
    for (const seen of all) if (seen !== consumed) throw new Error(`an observer saw ${seen} of ${consumed} events`);
    await own.delete(run.sessionId);
    return { ended, drained };
  };
};

async function countAll(events) {
  let seen = 0;
  for await (const _ of events) seen++;
  return seen;
}

/** Says its answers in parts, each after some time and none like another, the first of them not before it may. */
const streaming = (mayBegin, ms) => {
  let answer = 0;
  return model(async function* () {
    await mayBegin;
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    const [, ...others] = PARTS;
    for (const text of [`answer ${++answer}: `, ...others]) yield { content: [{ type: 'text', text }] };
    yield { content: [], finishReason: 'stop' };
  });
};

/**
 * Runs of many turns, each in a session of its own. Where one is looked at in Studio, a process of its own reads the
 * session's stream and that of the overview, as a page does. `ms`: what the model takes for an answer. Resolves with ms,
 * and ms of processor time, of the run from where the page reads.
 */
const studio = async (ms, turns) => {
  const own = host();
  const page = await openPage(await own.inspectServer());
  return async (isShown) => {
    let begin;
    const mayBegin = new Promise((resolve) => {
      begin = resolve;
    });
    const child = one('one', streaming(mayBegin, ms));
    const run = own.run(loop({ name: 'loop', children: [child], maxIterations: turns }), PROMPT);
    const reading = read(run, answers);
    if (isShown) await page.look(run.sessionId);
    const cpu = process.cpuUsage();
    const from = performance.now();
    begin();
    const said = await reading;
    const took = performance.now() - from;
    const { user, system } = process.cpuUsage(cpu);
    if (said < turns * PARTS.length) throw new Error(`${said} of ${turns * PARTS.length} increments`);
    if (isShown) await page.lookAway();
    await own.delete(run.sessionId);
    return { took, cpu: (user + system) / 1_000 };
  };
};

export const studioOpen = () => studio(STUDIO_MODEL_MS, LOOP);
export const studioCpu = () => studio(0, 5 * LOOP);

export const liveChildren = (count) => async () => {
  const { all, arrived } = waitFor(count);
  const definition = parallel({ name: 'team', children: children(count, waiting(arrived)), concurrency: count });
  const own = host();
  const run = own.run(definition, PROMPT);
  let aborted = 0;
  const reading = (async () => {
    for await (const event of run)
      if (event.type === 'stream_end' && event.threadId && event.reason === 'aborted') aborted++;
  })();
  await all;
  return async () => {
    run.abort('enough');
    await run.result;
    await reading;
    return aborted;
  };
};
