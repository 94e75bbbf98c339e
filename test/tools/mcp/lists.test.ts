import { afterEach, beforeEach, expect, test } from 'vitest';
import { agent, createHost, tool } from '../../../src/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { mcpTools } from '../../../src/tools/mcp.js';
import { createWitness, type Witness } from '../../support/mcp-witness.js';
import { collect } from '../../support/team.js';
import { call, hostileServer, mcpHost, noticesIn, responsesIn, stdioServer, textIn, toolsIn } from './hosted.js';
import '../../support/process-limit.js';

let witness: Witness;
beforeEach(async () => {
  witness = await createWitness();
});
afterEach(() => witness.close());

test.each(['dual', 'legacy'])('a tool that a server brings while it runs is there for later runs, %s', async (era) => {
  const { host, run } = mcpHost({ servers: { real: stdioServer([era], witness.env) } }, [
    call('mcp_real_grow'),
    { text: 'one' },
    call('mcp_real_grown'),
    { text: 'two' },
  ]);
  const first = await collect(run());
  expect(toolsIn(first).map(({ name }) => name)).not.toContain('mcp_real_grown');
  const second = await collect(run());
  expect(responsesIn(second).map(textIn)).toEqual(['I am new']);
  expect(toolsIn(second).map(({ name }) => name)).toContain('mcp_real_grown');
  await host.close();
});

test('agents name tools exactly, by server, by pattern, or take all; the order is host, then servers by name', async () => {
  const model = scriptedModel(Array.from({ length: 5 }, () => ({ text: 'done' })));
  const own = tool({ name: 'own', description: 'Own.', parameters: { type: 'object' }, execute: () => 'own' });
  await using host = createHost({
    models: { scripted: model },
    tools: [mcpTools({ servers: { b: hostileServer('plain'), a: hostileServer('plain') } }), own],
  });
  const names = async (...tools: string[]) =>
    toolsIn(await collect(host.run(agent({ name: 'user', tools }), 'go'))).map(({ name }) => name);
  expect(await names('mcp_b_work')).toEqual(['mcp_b_work']);
  expect(await names('mcp_a_*')).toEqual(['mcp_a_fine', 'mcp_a_work']);
  expect(await names('mcp_*')).toEqual(['mcp_a_fine', 'mcp_a_work', 'mcp_b_fine', 'mcp_b_work']);
  expect(await names('mcp_b_f*', 'own')).toEqual(['own', 'mcp_b_fine']);
  const all = { ...agent({ name: 'user' }), inheritTools: true };
  expect(toolsIn(await collect(host.run(all, 'go'))).map(({ name }) => name)).toEqual([
    'own',
    'mcp_a_fine',
    'mcp_a_work',
    'mcp_b_fine',
    'mcp_b_work',
  ]);
});

test('a name that a server lacks is a fault that says what it has', async () => {
  await using host = createHost({
    models: { scripted: scriptedModel([]) },
    tools: [mcpTools({ servers: { a: hostileServer('plain') } })],
  });
  const run = host.run(agent({ name: 'user', tools: ['mcp_a_wrok'] }), 'go');
  await expect(run.result).rejects.toThrow(/no tool "mcp_a_wrok" \(did you mean "mcp_a_work"/);
});

test('the same names come back after a restart, and in whatever order servers connect (B120, B121)', async () => {
  const names = async (...order: string[]) => {
    const servers = Object.fromEntries(order.map((name) => [name, hostileServer('names')]));
    const { host, run } = mcpHost({ servers }, [{ text: 'done' }]);
    const found = toolsIn(await collect(run())).map(({ name }) => name);
    await host.close();
    return found;
  };
  const first = await names('a', 'b');
  expect(first).toHaveLength(16);
  expect(new Set(first).size).toBe(16);
  expect(await names('b', 'a')).toEqual(first);
});

test('the list of a server is asked for once, however many runs there are', async () => {
  const { host, run } = mcpHost({ servers: { bad: hostileServer('plain', witness.env) } }, [
    { text: 'one' },
    { text: 'two' },
    { text: 'three' },
  ]);
  const runs = [await collect(run()), await collect(run()), await collect(run())];
  expect(runs.flatMap(noticesIn)).toEqual([]);
  expect(witness.events.filter(({ event }) => event === 'listed')).toHaveLength(1);
  await host.close();
});

test('a session that stays has what changed with its next message', async () => {
  const model = scriptedModel([call('mcp_real_grow'), { text: 'one' }, call('mcp_real_grown'), { text: 'two' }]);
  await using host = createHost({
    models: { scripted: model },
    policy: [{ rules: [{ toolName: '*', decision: 'allow' }] }],
    tools: [mcpTools({ servers: { real: stdioServer(['legacy'], witness.env) } })],
  });
  const session = host.session(agent({ name: 'user', tools: ['mcp_*'] }));
  const say = async (content: string) => {
    const events = [];
    for await (const event of session.stream({ kind: 'message', content }).stream) events.push(event);
    return events;
  };
  await say('one');
  const second = await say('two');
  expect(second.filter((event) => event.type === 'session_update')).toHaveLength(1);
  expect(responsesIn(second).map(textIn)).toEqual(['I am new']);
});
