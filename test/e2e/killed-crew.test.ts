import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agent, createHost, tool } from '../../src/index.js';
import { fileStore } from '../../src/stores/file.js';
import { serveA2a } from '../../src/surfaces/a2a.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';
import { buildProgram } from '../support/built-program.js';
import { openCrew, WROTE } from '../support/killed-crew.js';
import { logOf, ofType } from '../support/team.js';

/** A program that loads ADK starts within some seconds, later on a machine that is busy. */
const PATIENCE_MS = 90_000;

let program: Awaited<ReturnType<typeof buildProgram>>;
beforeAll(async () => {
  program = await buildProgram('test/support/killed-crew.ts');
}, PATIENCE_MS);
afterAll(() => program.remove());

/** A peer that outlives whoever asks it; `answers` has what its question was answered with. */
async function peer() {
  const answers: unknown[] = [];
  const wonder = tool({
    name: 'wonder',
    description: 'Asks.',
    annotations: { readOnly: true },
    async execute(_args, { elicit }) {
      const requestedSchema = { type: 'object', properties: { city: { type: 'string' } } } as const;
      const { content } = await elicit({ message: 'Which city?', kind: 'clarification', requestedSchema });
      answers.push(content);
      return String(content?.city);
    },
  });
  const model = scriptedModel([{ text: 'Well. ', toolCalls: [{ name: 'wonder', args: {} }] }, { text: 'To Oslo.' }]);
  const host = createHost({ models: { scripted: model } });
  const server = await serveA2a(host, agent({ name: 'travel', tools: [wonder] }));
  return {
    url: server.cardUrl,
    answers,
    model,
    async close() {
      await host.close();
      await server.close();
    },
  };
}

const writtenIn = (dir: string) =>
  existsSync(join(dir, WROTE)) ? readFileSync(join(dir, WROTE), 'utf8').trim().split('\n') : [];

test.each([
  ['all are asked', ['google', 'local', 'far'], []],
  ['one has written', ['local', 'far'], ['google']],
  ['one has ended', ['local', 'far'], ['google']],
])(
  'four kinds of agents, killed when %s, go on from one log: each question once more, nothing done twice',
  async (point, open, written) => {
    const dir = await mkdtemp(join(tmpdir(), 'killed-crew-'));
    const { url, answers, model, close } = await peer();
    try {
      expect(await program.run([dir, url, point])).toEqual({ err: '', ended: 'SIGKILL' });
      expect(writtenIn(dir).filter((line) => line !== '')).toEqual(written);

      const { host, team } = openCrew(dir, url);
      const run = await host.resume('killed', { agent: team });
      const asked: string[] = [];
      for await (const event of run) {
        if (event.type !== 'elicitation_request') continue;
        asked.push(event.agentId ?? '');
        const content = event.agentId === 'far' ? { content: { answer: 'Oslo' } } : {};
        run.respond(event.requestId, { action: 'accept', ...content });
      }
      expect(await run.result).toMatchObject({ ok: true });
      expect(asked.toSorted()).toEqual(open.toSorted());
      expect(writtenIn(dir).toSorted()).toEqual(['google', 'local']);
      // The peer was asked once, and its own task went on with the answer.
      expect([answers, model.requests.length]).toEqual([[{ city: 'Oslo' }], 2]);
      await host.close();

      const log = await logOf(fileStore({ dir: join(dir, 'store') }), 'killed');
      expect(validateLog(log, { finished: true })).toEqual([]);
      const ends = ofType(log, 'stream_end').map(({ agentId, reason }) => `${agentId} ${reason}`);
      expect(ends.toSorted()).toEqual(['crew', 'far', 'google', 'guest', 'local'].map((name) => `${name} completed`));
      const said = ofType(log, 'message').filter(({ role, agentId }) => role === 'agent' && agentId === 'far');
      expect(JSON.stringify(said).match(/Well\./g)).toHaveLength(1);
      expect(ofType(log, 'elicitation_request')).toHaveLength(3);
    } finally {
      await close();
      await rm(dir, { recursive: true, force: true });
    }
  },
  PATIENCE_MS,
);
