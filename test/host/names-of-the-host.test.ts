import { expect, test } from 'vitest';
import type { ToolDefinition, Toolset } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, sequential, TroupeError, tool } from '../../src/index.js';
import { collect, consumerTool, leaf, ofType } from '../support/team.js';
import { hostWith } from '../support/teams.js';

const NAMES = ['complete_task', 'transfer_to_agent', 'exit_loop', 'ask_user', 'exit_plan_mode', 'activate_skill'];
/** As a library might make one, without `tool()`. */
const handmade = (name: string): ToolDefinition => ({
  ...tool({ name: 'x', description: '', execute: () => 1 }),
  name,
});

test.each(NAMES)('nothing of an author’s may be named %s, as the host has a tool of that name', async (name) => {
  const refused = expect.objectContaining({
    constructor: TroupeError,
    message: expect.stringContaining(`"${name}" is a tool of the host`),
  });
  const { host } = hostWith({ a: [] });
  const a = leaf('a');
  expect(() => tool({ name, description: '', execute: () => 1 })).toThrow(refused);
  expect(() => agent({ name: 'b', tools: [handmade(name)] })).toThrow(refused);
  expect(() => createHost({ tools: [handmade(name)] })).toThrow(refused);
  expect(() => host.run(a, 'go', { tools: [handmade(name)] })).toThrow(refused);
  expect(() => host.run(a, 'go', { tools: [consumerTool(name)] })).toThrow(refused);
  expect(() => host.session(a).update({ tools: [consumerTool(name)] })).toThrow(refused);
  expect(() => hierarchical({ name: 'h', agent: a, children: [leaf(name)] })).toThrow(
    `h.children: the child "${name}" is a tool of its leader, and the host has a tool "${name}"`,
  );
  // Where no child is a tool its name is its own.
  sequential({ name: 's', children: [leaf(name)] });
  await host.close();
});

test.each(NAMES)(
  'a toolset that brings %s, which only its opening shows, is told so, and the tool is left out',
  async (name) => {
    const toolset: Toolset = {
      kind: 'toolset',
      name: 'shelf',
      prefixes: [name],
      open: async () => ({
        ready: () => undefined,
        tools: () => [handmade(name)],
        mayHave: () => false,
        onChange() {},
        async close() {},
      }),
    };
    const { host, model } = hostWith({ a: [{ text: 'ok' }] }, { tools: [toolset] });
    const events = await collect(host.run(agent({ name: 'a', inheritTools: true }), 'go'));
    const told = ofType(events, 'custom').filter(({ kind }) => kind === 'notice');
    expect(told).toMatchObject([
      { data: { code: 'TOOL_NAME_TAKEN', text: expect.stringContaining(`shelf brings a tool "${name}"`) } },
    ]);
    expect(model.requests[0]?.tools ?? []).toEqual([]);
    await host.close();
  },
);
