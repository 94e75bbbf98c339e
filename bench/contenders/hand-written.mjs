// The floor: plain async generators, model → agent → consumer. No state machine, no policy, no hooks, no log.
import { closeSync, fdatasync, openSync, readFileSync, write, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  ANSWER,
  argsOf,
  CHAIN,
  CHUNK,
  CHUNKS,
  EVENTS,
  eventOf,
  LOOP,
  ownDirectory,
  PROMPT,
  roundsIn,
  TOOL,
  TOOL_ROUNDS,
} from '../work.mjs';

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

const tools = { [TOOL.name]: async () => TOOL.result };

/** One run of one agent: yields what the model says; returns the final text. Keeps `history`. */
async function* agent(model, history, prompt) {
  history.push({ role: 'user', content: prompt });
  for (;;) {
    let text = '';
    const calls = [];
    for await (const part of model(history)) {
      if (part.type === 'text') text += part.text;
      else calls.push(part);
      yield part;
    }
    if (calls.length === 0) {
      history.push({ role: 'model', content: text });
      return text;
    }
    for (const call of calls) {
      history.push({ role: 'model', content: call });
      const result = await tools[call.name](call.args);
      history.push({ role: 'tool', content: result });
      yield { type: 'result', result };
    }
  }
}

async function* inTurn(count, prompt) {
  let text = prompt;
  for (let i = 0; i < count; i++) text = yield* agent(answering, [], text);
  return text;
}

async function count(stream, type) {
  let seen = 0;
  for await (const part of stream) if (part.type === type) seen++;
  return seen;
}

export const singleTurn = () => () => count(agent(answering, [], PROMPT), 'text');
export const toolRounds = () => () => count(agent(calling, [], PROMPT), 'result');
export const chain10 = () => () => count(inTurn(CHAIN, PROMPT), 'text');
export const loop100 = () => () => count(inTurn(LOOP, PROMPT), 'text');
export const chunks10000 = () => () => count(agent(chunking, [], PROMPT), 'text');

/** All children at once. */
export const fanOut = (children) => async () => {
  const counts = await Promise.all(Array.from({ length: children }, () => count(agent(answering, [], PROMPT), 'text')));
  return counts.reduce((sum, n) => sum + n, 0);
};

export const idleMemory = () => async () => {
  const history = [];
  await count(agent(answering, history, PROMPT), 'text');
  return history;
};

export const growth = () => async () => {
  const history = [];
  return () => count(agent(answering, history, PROMPT), 'text');
};

/** Children whose model waits until it is aborted. */
export const liveChildren = (children) => async () => {
  const controller = new AbortController();
  const { signal } = controller;
  async function* waiting() {
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  }
  const all = Array.from({ length: children }, () => count(agent(waiting, [], PROMPT), 'text'));
  const settled = Promise.allSettled(all);
  return async () => {
    controller.abort(new Error('enough'));
    return (await settled).filter((one) => one.status === 'rejected').length;
  };
};

const writing = promisify(write);
const syncing = promisify(fdatasync);

/** What a turn leaves in a log, appended and synced. */
export const durableTurn = () => {
  const fd = openSync(join(ownDirectory(), 'log'), 'a');
  process.on('exit', () => closeSync(fd));
  let seq = 0;
  return async () => {
    const seen = await count(agent(answering, [], PROMPT), 'text');
    const lines = [eventOf(++seq), eventOf(++seq), eventOf(++seq)].map((event) => `${JSON.stringify(event)}\n`);
    await writing(fd, lines.join(''));
    await syncing(fd);
    return seen;
  };
};

/** Read whole and parsed line by line. */
export const open10000 = () => {
  const file = join(ownDirectory(), 'log');
  writeFileSync(file, Array.from({ length: EVENTS }, (_, index) => `${JSON.stringify(eventOf(index + 1))}\n`).join(''));
  return async () => {
    let seen = 0;
    for (const line of readFileSync(file, 'utf8').split('\n')) if (line !== '' && JSON.parse(line).seq > 0) seen++;
    return seen;
  };
};
