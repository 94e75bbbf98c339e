import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { AnyActorRef } from 'xstate';
import { agent, createHost, hierarchical, loop, parallel, sequential, tool } from '../../src/index.js';
import { expectNoLeaks, scriptedModel } from '../../src/testing/index.js';
import { leaf, readAll, settle } from '../support/team.js';

const WINDOWS = 5;
const RUNS = 200;
/**
 * Bytes per run, where it grows least: what stays behind would be there each time, warming up is not. One of the dozen
 * sessions of a run takes more.
 */
const GROWTH = 1_000;

setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function heapUsed(): Promise<number> {
  await settle(20);
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test('a thousand nested runs leave no actor, timer, listener or memory behind', async () => {
  const read = tool({
    name: 'read',
    description: 'Reads.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: async (_, { signal }) => String(signal.aborted),
  });
  const team = sequential({
    name: 'team',
    children: [
      parallel({ name: 'gather', children: [agent({ name: 'reader', tools: [read] }), leaf('writer')] }),
      loop({ name: 'polish', children: [leaf('critic')], maxIterations: 2 }),
      hierarchical({ name: 'lead', agent: leaf('boss'), children: [leaf('helper')] }),
    ],
  });
  const { signal } = new AbortController();
  await expectNoLeaks(
    async () => {
      const calls = (name: string, args: object) => ({ toolCalls: [{ name, args }] });
      const model = scriptedModel({
        byAgent: {
          reader: (request) => (request.messages.length === 1 ? calls('read', {}) : { text: 'read' }),
          boss: (request) => (request.messages.length === 1 ? calls('helper', { prompt: 'x' }) : { text: 'done' }),
          writer: () => ({ text: ['wr', 'it', 'ten'] }),
          critic: () => ({ text: 'fine' }),
          helper: () => ({ text: 'helped' }),
        },
      });
      let begun = 0;
      let live = new Set<AnyActorRef>();
      const host = createHost({
        models: { scripted: model },
        inspect(event) {
          if (event.type !== '@xstate.actor') return;
          begun++;
          live.add(event.actorRef as AnyActorRef);
        },
      });
      const rest = () => {
        live = new Set([...live].filter((actor) => actor.getSnapshot().status === 'active'));
        return [...live].map((actor) => actor.id);
      };
      const once = async (at: number) => {
        const run = host.run(team, 'go', { ephemeral: true, signal });
        if (at % 3 === 0) await readAll(run);
        else if (at % 3 === 1) for await (const event of run) if (event.type === 'tool_request') break;
        await run.result;
      };
      const heaps: number[] = [];
      for (let at = 0; at < WINDOWS * RUNS; at++) {
        await once(at);
        if ((at + 1) % RUNS !== 0) continue;
        expect(rest()).toEqual(['host']);
        (model.requests as unknown[]).length = 0;
        heaps.push(await heapUsed());
      }
      expect(begun).toBeGreaterThan(10 * WINDOWS * RUNS);
      const growth = heaps.slice(1).map((heap, at) => (heap - (heaps[at] as number)) / RUNS);
      // The first goes before the heap has its size.
      expect(Math.min(...growth.slice(1))).toBeLessThan(GROWTH);
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
      await host.close();
      expect(rest()).toEqual([]);
    },
    { signals: [signal] },
  );
});
