import { expect, test } from 'vitest';
import type { JsonSchema } from '../../src/contracts/index.js';
import * as troupe from '../../src/index.js';
import { workspaceTools } from '../../src/tools/workspace.js';

const nothing = [undefined, null, 5, 'x', []];
const { agent, tool, sequential, parallel, loop, transfer, hierarchical, graph } = troupe;
const makers = Object.entries({ agent, tool, sequential, parallel, loop, transfer, hierarchical, graph });

test.each(makers)('%s() without an object of options is a typed error that names it', (name, make) => {
  for (const options of nothing) {
    expect(() => (make as (options: unknown) => unknown)(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_DEFINITION', message: expect.stringContaining(`${name}()`) }),
    );
  }
});

test('a host, its calls, hooks and tools of folders without an object of options are typed errors', async () => {
  const host = troupe.createHost({ models: { scripted: () => ({}) as never } });
  const one = troupe.agent({ name: 'one', model: 'scripted' });
  const wrong = { code: 'INVALID_OPTION' };
  for (const options of [null, 5, 'x', []] as never[]) {
    expect(() => troupe.createHost(options)).toThrow(expect.objectContaining(wrong));
    expect(() => host.run(one, 'go', options)).toThrow(expect.objectContaining(wrong));
    expect(() => host.session(one, options)).toThrow(expect.objectContaining(wrong));
    expect(() => host.attach('s', options)).toThrow(expect.objectContaining(wrong));
    expect(() => troupe.commandHook(options)).toThrow(expect.objectContaining(wrong));
    expect(() => workspaceTools(options)).toThrow(expect.objectContaining(wrong));
    for (const call of [host.resume, host.fork, host.rewind]) {
      await expect(call('s', options)).rejects.toMatchObject(wrong);
    }
  }
  for (const given of nothing as never[]) {
    expect(() => host.describe(given)).toThrow(expect.objectContaining({ code: 'INVALID_DEFINITION' }));
  }
  await host.close();
});

test('an executor is registered with a name and a function, and never in place of one that there is', async () => {
  await using host = troupe.createHost();
  const creator = () => ({}) as never;
  const refused = [
    () => host.registerExecutor(undefined as never, creator),
    () => host.registerExecutor('', creator),
    () => host.registerExecutor('mine', 5 as never),
    () => host.registerExecutor('local', creator),
    () => host.registerExecutor('composition', creator),
  ];
  for (const register of refused) expect(register).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  host.registerExecutor('mine', creator);
});

test('a definition that was checked takes no child and no tool behind the check', () => {
  const one = agent({ name: 'a', tools: ['x'] });
  const team = sequential({ name: 'team', children: [one] });
  expect(() => (team.children as unknown[]).push(team)).toThrow(TypeError);
  expect(() => (one.tools as unknown[]).push('y')).toThrow(TypeError);
});

test('a schema that leads to another document is refused: nothing is fetched', () => {
  const make = (parameters: JsonSchema) => troupe.tool({ name: 't', description: 'd', parameters, execute: () => 1 });
  const away = { type: 'object', properties: { a: { $ref: 'https://example.com/a.json' } } };
  expect(() => make(away)).toThrow(
    expect.objectContaining({ code: 'INVALID_DEFINITION', message: expect.stringContaining('nothing is fetched') }),
  );
  make({ type: 'object', properties: { a: { $ref: '#thing' } }, $defs: { b: { $anchor: 'thing', type: 'string' } } });
});
