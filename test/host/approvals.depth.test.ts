import { expect, test } from 'vitest';
import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, parallel, type Run, sequential, tool } from '../../src/index.js';
import { type ScriptEntry, scriptedModel, validateLog } from '../../src/testing/index.js';
import { fc } from '../support/fast-check.js';
import { ofType } from '../support/team.js';

const CALLS = 2;

/** How the dangerous calls lie in a team: so many leaders above each worker, so many workers side by side. */
interface Shape {
  depth: number;
  workers: number;
  within: 'parallel' | 'sequential';
}

const asks = (worker: string, count: number): ScriptEntry => ({
  toolCalls: Array.from({ length: count }, (_, index) => ({
    id: `${worker}-${index}`,
    name: 'danger',
    args: { of: worker, index },
  })),
});

/** A team, and the lines of everybody in it. */
function teamOf({ depth, workers, within }: Shape, ran: string[]) {
  const byAgent: Record<string, ScriptEntry[]> = {};
  const danger = tool({
    name: 'danger',
    description: 'Changes something.',
    parameters: { type: 'object' },
    execute: (_, { requestId }) => {
      ran.push(requestId);
      return `done ${requestId}`;
    },
  });
  const branch = (index: number): AgentDefinition => {
    const name = `worker${index}`;
    byAgent[name] = [asks(name, CALLS), { text: `${name} done` }];
    let inner = agent({ name, tools: [danger] }) as AgentDefinition;
    for (let level = depth; level > 1; level--) {
      const leader = `chief${index}_${level}`;
      byAgent[leader] = [{ toolCalls: [{ name: inner.name, args: { prompt: 'go' } }] }, { text: `${leader} done` }];
      inner = hierarchical({
        name: `lead${index}_${level}`,
        agent: agent({ name: leader }),
        children: [inner],
      } as never) as AgentDefinition;
    }
    return inner;
  };
  const branches = Array.from({ length: workers }, (_, index) => branch(index));
  const compose = within === 'parallel' ? parallel : sequential;
  const team = workers === 1 ? branches[0] : compose({ name: 'team', children: branches as never });
  return { team: team as AgentDefinition, byAgent };
}

const shape: fc.Arbitrary<Shape> = fc.record({
  depth: fc.constantFrom(1, 2, 3),
  workers: fc.constantFrom(1, 2, 3),
  within: fc.constantFrom('parallel' as const, 'sequential' as const),
});
const verdict = fc.constantFrom('accept' as const, 'decline' as const);

test('whatever the depth and the breadth, streamed or not, answered at once or late and in any order: what was accepted runs exactly once, by who asked', async () => {
  await fc.assert(
    fc.asyncProperty(
      shape,
      fc.boolean(),
      fc.boolean(),
      fc.array(fc.tuple(fc.nat(), verdict), { minLength: 6, maxLength: 6 }),
      async (at, streaming, isLate, choices) => {
        const ran: string[] = [];
        const { team, byAgent } = teamOf(at, ran);
        const host = createHost({ models: { scripted: scriptedModel({ byAgent }) } });
        const said = new Map<string, 'accept' | 'decline'>();
        const open: string[] = [];
        const events: AgentEvent[] = [];
        try {
          const run: Run = host.run(team, 'go', { streaming });
          const answerOne = () => {
            const [place, action] = choices[said.size % choices.length] as [number, 'accept' | 'decline'];
            const [requestId] = open.splice(place % open.length, 1);
            if (requestId === undefined) return;
            said.set(requestId, action);
            run.respond(requestId, { action });
          };
          let isWaiting = false;
          for await (const event of run) {
            events.push(event);
            if (event.type !== 'elicitation_request') continue;
            open.push(event.requestId);
            if (!isLate) answerOne();
            else if (!isWaiting) {
              isWaiting = true;
              // Once nothing else goes on: then every question that there can be is open.
              setImmediate(function later() {
                if (run.state().root.type === 'running') return void setImmediate(later);
                isWaiting = false;
                while (open.length > 0) answerOne();
              });
            }
          }
          expect(await run.result).toMatchObject({ ok: true });
        } finally {
          await host.close();
        }
        expect(validateLog(events)).toEqual([]);
        const questions = ofType(events, 'elicitation_request');
        const all = questions.map(({ context }) => String(context?.toolRequestId));
        expect(all.sort()).toEqual(
          Array.from({ length: at.workers }, (_, w) => [`worker${w}-0`, `worker${w}-1`]).flat(),
        );
        const accepted = questions.filter(({ requestId }) => said.get(requestId) === 'accept');
        expect([...ran].sort()).toEqual(accepted.map(({ context }) => String(context?.toolRequestId)).sort());
        const responses = ofType(events, 'tool_response').filter(({ name }) => name.endsWith('.danger'));
        expect(responses.map(({ requestId }) => requestId).sort()).toEqual(all);
        for (const { requestId, agentId, errorType } of responses) {
          expect(requestId.startsWith(`${agentId}-`)).toBe(true);
          expect(errorType).toBe(ran.includes(requestId) ? undefined : 'declined');
        }
        expect(ofType(events, 'elicitation_response')).toHaveLength(questions.length);
      },
    ),
    { seed: 31, numRuns: 40 },
  );
}, 60_000);
