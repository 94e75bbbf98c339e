// The work that every contender does, and how much of it a run must have done to count.

import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const TOOL_ROUNDS = 20;
export const CHAIN = 10;
export const LOOP = 100;
export const CHUNKS = 10_000;
export const EVENTS = 10_000;
export const PROMPT = 'What is the state of the report?';
export const ANSWER = 'The report is done.';
export const CHUNK = 'word ';
export const TOOL = {
  name: 'look_up',
  description: 'Looks one note up.',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string' } },
    required: ['query'],
    additionalProperties: false,
  },
  result: 'found it',
};

/**
 * Rounds of tool calls that a history shows: the prompt, then a call and its result per round.
 * Contenders whose history is shaped in another way count for themselves.
 */
export const roundsIn = (historyLength) => (historyLength - 1) / 2;

/** Arguments of one round's call: no two calls of a run are the same, so that nobody takes the run for stuck. */
export const argsOf = (round) => ({ query: `report ${round}` });

/** Resolves `all` once `arrived` has been called `count` times: so many models are waiting. */
export function waitFor(count) {
  let left = count;
  let resolve;
  const all = new Promise((done) => {
    resolve = done;
  });
  return {
    all,
    arrived() {
      if (--left === 0) resolve();
    },
  };
}

/** A directory of this process, gone with it. */
export function ownDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'troupe-bench-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** What a log of one's own would hold for the `seq`th message. */
export const eventOf = (seq) => ({
  id: `3f29ab-${seq.toString(36)}`,
  timestamp: new Date(Date.UTC(2026, 0, 1) + seq).toISOString(),
  seq,
  runId: '3f29ab-1',
  streamId: '3f29ab-1',
  agentId: 'one',
  type: 'message',
  messageId: `3f29ab-${seq.toString(36)}`,
  role: 'agent',
  content: [{ type: 'text', text: `${ANSWER} ${CHUNK.repeat(40)}` }],
});

/** A model that answers much sooner than any real one does. */
export const STUDIO_MODEL_MS = 5;
/** An answer in as many parts as a model streams it in. */
export const PARTS = Array.from({ length: 20 }, () => CHUNK);

/** What a page of Studio reads of a session, read in a process of its own that ends with this one. */
export async function openPage({ url }) {
  const { origin, searchParams } = new URL(url);
  const page = fork(new URL('studio-page.mjs', import.meta.url), [origin, searchParams.get('token')], { execArgv: [] });
  process.on('exit', () => page.kill());
  page.on('exit', (code) => {
    if (code) throw new Error(`the page ended with ${code}`);
  });
  const told = (word) =>
    new Promise((resolve) => {
      page.on('message', function heard(said) {
        if (said !== word) return;
        page.off('message', heard);
        resolve();
      });
    });
  const ask = (message, answer) => {
    const answered = told(answer);
    page.send(message);
    return answered;
  };
  await told('ready');
  return { look: (sessionId) => ask({ sessionId }, 'reading'), lookAway: () => ask({}, 'left') };
}
