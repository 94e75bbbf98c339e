import { expect, test } from 'vitest';
import type { AgentEventDraft, AgentSession, ExecutorCreator } from '../../src/contracts/index.js';
import { agent, createHost, INTERFACE_VERSION, isCompatible, sequential, TroupeError } from '../../src/index.js';

const creator = (interfaceVersion?: string): ExecutorCreator =>
  Object.assign(() => ({ async *turn() {} }) as never, interfaceVersion === undefined ? {} : { interfaceVersion });

const refusal = (version: string) =>
  expect.objectContaining({
    constructor: TroupeError,
    code: 'INCOMPATIBLE_VERSION',
    message: expect.stringMatching(new RegExp(`${version.replaceAll('.', '\\.')}.*${INTERFACE_VERSION}`)),
  });

test.each(['0.9.0', '2.0.0', '1.99.0'])(
  'what was written for interface %s is refused where it is registered',
  (version) => {
    const host = createHost();
    expect(() => host.registerExecutor('mine', creator(version))).toThrow(refusal(version));
    expect(() => agent({ name: 'a', metadata: { interfaceVersion: version } })).toThrow(refusal(version));
    const made = agent({ name: 'a' });
    const foreign = { ...made, descriptor: { ...made.descriptor, metadata: { interfaceVersion: version } } };
    expect(() => createHost({ agents: [foreign] })).toThrow(refusal(version));
    expect(() => sequential({ name: 's', children: [foreign] })).toThrow(refusal(version));
    expect(() => host.run(foreign, 'go')).toThrow(refusal(version));
    expect(isCompatible(version)).toMatchObject({ compatible: false });
    // It was not registered.
    host.registerExecutor('mine', creator());
  },
);

test('an executor of this interface, or of none that it names, is registered', () => {
  const host = createHost();
  host.registerExecutor('one', creator(INTERFACE_VERSION));
  host.registerExecutor('two', creator());
  expect(() => host.registerExecutor('three', creator('one'))).toThrow(/semantic version/);
});

test('a session that says it speaks another major is not believed', async () => {
  async function* bot(): AsyncGenerator<AgentEventDraft, void, undefined> {
    const about = { name: 'bot', description: 'Another’s.' };
    yield { type: 'initialize', sessionId: 's', agent: about, interfaceVersion: '2.0.0', capabilities: [] };
    yield { type: 'message', messageId: 'm', role: 'agent', content: [{ type: 'text', text: 'trust me' }] };
    yield { type: 'stream_end', reason: 'completed' };
  }
  const session: AgentSession = {
    stream: () => ({ stream: bot() as never, controller: { abort() {} } }),
    update() {},
    steer() {},
    abort() {},
  };
  await using host = createHost();
  host.registerExecutor('bot', () => session);
  const run = host.run(agent({ name: 'a', executor: 'bot', capabilities: ['host_tool_execution'] }), 'go');
  expect(await run.result).toMatchObject({ ok: false, data: { code: 'INCOMPATIBLE_VERSION' } });
});
