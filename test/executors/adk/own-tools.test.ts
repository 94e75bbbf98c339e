import { FunctionTool, LlmAgent } from '@google/adk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentEvent } from '../../../src/contracts/index.js';
import { agent, createHost, defineHook, tool } from '../../../src/index.js';
import { ScriptedLlm } from './scripted-llm.js';

type Script = ConstructorParameters<typeof ScriptedLlm>[0];

const call = (name: string, args: object = {}, id?: string): Script[number] => ({
  toolCalls: [{ name, args, ...(id !== undefined && { id }) }],
});

function add(ran: unknown[] = []) {
  return new FunctionTool({
    name: 'add',
    description: 'Adds.',
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => {
      ran.push([a, b]);
      return { sum: a + b };
    },
  });
}

async function collect(run: AsyncIterable<AgentEvent>, see: (event: AgentEvent) => void = () => {}) {
  const events: AgentEvent[] = [];
  for await (const event of run) {
    events.push(event);
    see(event);
  }
  return events;
}

describe('the own tools of an ADK agent', () => {
  test('are tools of the definition, policed as agent.tool', async () => {
    await using host = createHost({});
    const legacy = agent({
      name: 'legacy',
      executor: 'adk',
      backend: { agent: new LlmAgent({ name: 'l', tools: [add()] }) },
    });
    expect(host.describe(legacy).ownTools).toMatchObject([
      { name: 'add', description: 'Adds.', parametersSchema: { type: 'object', required: ['a', 'b'] } },
    ]);
  });

  test('are asked about, run once by the host, and their result goes back', async () => {
    const ran: unknown[] = [];
    const model = new ScriptedLlm([call('add', { a: 1, b: 2 }, 'c1'), { text: 'three' }]);
    const legacy = agent({
      name: 'legacy',
      executor: 'adk',
      backend: { agent: new LlmAgent({ name: 'l', model, tools: [add(ran)] }) },
    });
    const fired: string[] = [];
    await using host = createHost({ hooks: [defineHook('before_tool', ({ tool: name }) => void fired.push(name))] });
    const run = host.run(legacy, 'add');
    const events = await collect(run, (event) => {
      if (event.type === 'elicitation_request') {
        expect(ran).toEqual([]);
        run.respond(event.requestId, { action: 'accept' });
      }
    });
    expect(ran).toEqual([[1, 2]]);
    expect(fired).toEqual(['legacy.add']);
    expect(events.find(({ type }) => type === 'tool_response')).toMatchObject({ name: 'legacy.add', data: { sum: 3 } });
    expect((await run.result).text).toBe('three');
    expect(model.requests[1]?.contents.at(-1)?.parts).toMatchObject([
      { functionResponse: { name: 'add', id: 'c1', response: { output: '{"sum":3}' } } },
    ]);
  });

  test('stand beside the tools of the host', async () => {
    const model = new ScriptedLlm([call('look'), { text: 'seen' }]);
    const look = tool({ name: 'look', description: 'Looks.', annotations: { readOnly: true }, execute: () => 'all' });
    const legacy = agent({
      name: 'legacy',
      executor: 'adk',
      tools: ['look'],
      backend: { agent: () => new LlmAgent({ name: 'l', model, tools: [add()] }) },
    });
    await using host = createHost({ tools: [look] });
    expect((await host.run(legacy, 'look').result).text).toBe('seen');
    const declared = model.requests[0]?.config?.tools?.[0] as { functionDeclarations: { name: string }[] };
    expect(declared.functionDeclarations.map(({ name }) => name)).toEqual(['add', 'look']);
  });
});
