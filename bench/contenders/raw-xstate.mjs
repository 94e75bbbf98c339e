// XState alone, doing the same: a session machine (idle, running, calling), one invoked promise per model call and per
// tool call, the history in context. Fan-out: actors that a pool of our own logic holds in a Map.
import { assign, createActor, emit, fromPromise, setup } from 'xstate';
import { ANSWER, argsOf, CHAIN, CHUNK, CHUNKS, LOOP, PROMPT, roundsIn, TOOL, TOOL_ROUNDS } from '../work.mjs';

async function* answering() {
  yield { type: 'text', text: ANSWER };
}

async function* calling(history) {
  const round = roundsIn(history.length);
  if (round < TOOL_ROUNDS) yield { type: 'call', name: TOOL.name, args: argsOf(round) };
  else yield { type: 'text', text: ANSWER };
}

async function* chunking() {
  for (let i = 0; i < CHUNKS; i++) yield { type: 'text', text: CHUNK };
}

async function* waiting(_history, signal) {
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

const turn = fromPromise(async ({ input, signal }) => {
  let text = '';
  let call;
  for await (const part of input.model(input.history, signal)) {
    if (part.type === 'text') {
      text += part.text;
      input.session.send({ type: 'chunk', text: part.text });
    } else call = part;
  }
  return { text, call };
});

const tool = fromPromise(async () => TOOL.result);

const kit = setup({
  actors: { turn, tool },
  guards: {
    hasPrompt: ({ context }) => context.prompt !== undefined,
    asksForTool: (_, params) => params.call !== undefined,
  },
  actions: {
    takePrompt: assign({ history: ({ context }) => [...context.history, { role: 'user', content: context.prompt }] }),
    takeMessage: assign({
      history: ({ context, event }) => [...context.history, { role: 'user', content: event.text }],
    }),
    keepCall: assign({ history: ({ context }, { call }) => [...context.history, { role: 'model', content: call }] }),
    keepResult: assign({
      history: ({ context }, { result }) => [...context.history, { role: 'tool', content: result }],
    }),
    keepAnswer: assign({
      history: ({ context }, { text }) => [...context.history, { role: 'model', content: text }],
      text: (_, { text }) => text,
    }),
    passOn: emit(({ event }) => event),
    tellEnd: emit({ type: 'ended' }),
  },
});

const states = (afterAnswer) => ({
  idle: {
    always: { guard: 'hasPrompt', target: 'running', actions: 'takePrompt' },
    on: { message: { target: 'running', actions: 'takeMessage' } },
  },
  running: {
    on: { chunk: { actions: 'passOn' } },
    invoke: {
      src: 'turn',
      input: ({ context, self }) => ({ model: context.model, history: context.history, session: self }),
      onDone: [
        {
          guard: { type: 'asksForTool', params: ({ event }) => event.output },
          target: 'calling',
          actions: { type: 'keepCall', params: ({ event }) => event.output },
        },
        {
          target: afterAnswer,
          actions: [{ type: 'keepAnswer', params: ({ event }) => event.output }, 'tellEnd'],
        },
      ],
    },
  },
  calling: {
    invoke: {
      src: 'tool',
      input: ({ context }) => context.history.at(-1).content,
      onDone: { target: 'running', actions: { type: 'keepResult', params: ({ event }) => ({ result: event.output }) } },
    },
  },
});

const context = ({ input }) => ({ model: input.model, prompt: input.prompt, history: [], text: '' });

/** Stays, and takes the next message. */
const session = kit.createMachine({ id: 'session', initial: 'idle', context, states: states('idle') });

/** Does one run and ends with its text. */
export const child = kit.createMachine({
  id: 'child',
  initial: 'idle',
  context,
  states: { ...states('ended'), ended: { type: 'final' } },
  output: ({ context: { text } }) => text,
});

/** `count` children one after another; each is given what the last one said. */
const sequence = setup({ actors: { child } }).createMachine({
  id: 'sequence',
  initial: 'running',
  context: ({ input }) => ({ left: input.count, done: 0, text: input.prompt }),
  states: {
    running: {
      invoke: {
        src: 'child',
        input: ({ context: { text } }) => ({ model: answering, prompt: text }),
        onDone: [
          {
            guard: ({ context: { left } }) => left > 1,
            target: 'running',
            reenter: true,
            actions: assign({
              left: ({ context: { left } }) => left - 1,
              done: ({ context: { done } }) => done + 1,
              text: ({ event }) => event.output,
            }),
          },
          {
            target: 'ended',
            actions: assign({ done: ({ context: { done } }) => done + 1, text: ({ event }) => event.output }),
          },
        ],
      },
    },
    ended: { type: 'final' },
  },
  output: ({ context: { done } }) => done,
});

/** Children in a Map, outside any machine's snapshot. Ends when all of them have. */
const pool = {
  getInitialSnapshot: (_scope, input) => ({
    status: 'active',
    output: undefined,
    error: undefined,
    input,
    children: new Map(),
    results: new Map(),
  }),
  start(snapshot, scope) {
    const { count, model } = snapshot.input;
    for (let i = 0; i < count; i++) {
      const id = `child_${i}`;
      const ref = createActor(child, { id, parent: scope.self, input: { model, prompt: PROMPT } });
      snapshot.children.set(id, ref);
      ref.start();
    }
  },
  transition(snapshot, event, scope) {
    if (event.type === 'xstate.stop') {
      for (const ref of snapshot.children.values()) scope.stopChild(ref);
      return { ...snapshot, status: 'stopped' };
    }
    if (!event.type.startsWith('xstate.done.actor.') && !event.type.startsWith('xstate.error.actor.')) return snapshot;
    snapshot.children.delete(event.actorId);
    snapshot.results.set(event.actorId, event.output);
    if (snapshot.children.size > 0) return snapshot;
    return { ...snapshot, status: 'done', output: snapshot.results.size };
  },
  getPersistedSnapshot: (snapshot) => snapshot,
};

const outputOf = (logic, input) =>
  new Promise((resolve, reject) => {
    const actor = createActor(logic, { input });
    actor.subscribe({ complete: () => resolve(actor.getSnapshot().output), error: reject });
    actor.start();
  });

/** One message to a session; resolves with the number of chunks that came out when the run has ended. */
const deliver = (actor) =>
  new Promise((resolve) => {
    let chunks = 0;
    const chunk = actor.on('chunk', () => {
      chunks++;
    });
    const ended = actor.on('ended', () => {
      chunk.unsubscribe();
      ended.unsubscribe();
      resolve(chunks);
    });
    actor.send({ type: 'message', text: PROMPT });
  });

async function run(model) {
  const actor = createActor(session, { input: { model } }).start();
  const chunks = await deliver(actor);
  const { history } = actor.getSnapshot().context;
  actor.stop();
  return { chunks, history };
}

export const singleTurn = () => async () => (await run(answering)).chunks;
export const toolRounds = () => async () => roundsIn((await run(calling)).history.length - 1);
export const chain10 = () => () => outputOf(sequence, { count: CHAIN, prompt: PROMPT });
export const loop100 = () => () => outputOf(sequence, { count: LOOP, prompt: PROMPT });
export const chunks10000 = () => async () => (await run(chunking)).chunks;
export const fanOut = (children) => () => outputOf(pool, { count: children, model: answering });

export const idleMemory = () => async () => {
  const actor = createActor(session, { input: { model: answering } }).start();
  await deliver(actor);
  return actor;
};

export const growth = () => async () => {
  const actor = createActor(session, { input: { model: answering } }).start();
  return () => deliver(actor);
};

export const liveChildren = (children) => async () => {
  const actor = createActor(pool, { input: { count: children, model: waiting } }).start();
  const { children: live } = actor.getSnapshot();
  const refs = [...live.values()];
  return async () => {
    actor.stop();
    return refs.filter((ref) => ref.getSnapshot().status !== 'active').length;
  };
};
