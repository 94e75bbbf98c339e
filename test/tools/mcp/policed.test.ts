import { expect, test } from 'vitest';
import { type Bag, createHost, defineHook } from '../../../src/index.js';
import { registeredName } from '../../../src/tools/mcp/tool-names.js';
import { mcpTools } from '../../../src/tools/mcp.js';
import { collect } from '../../support/team.js';
import { call, hostileServer, mcpHost, responsesIn, runScript, stdioServer, textIn } from './hosted.js';

const servers = { real: stdioServer(), other: hostileServer('plain') };

test('what a server says of its tools counts only when it is trusted', async () => {
  const distrusted = await runScript({ servers: { real: stdioServer() } }, []);
  const trusted = await runScript({ servers: { real: stdioServer([], {}, { trust: true }) } }, []);
  const of = ({ tools }: typeof trusted, name: string) => tools.find((one) => one.name === name)?.annotations;
  expect(of(distrusted, 'mcp_real_echo')).toEqual({ category: 'other' });
  expect(of(trusted, 'mcp_real_echo')).toEqual({
    category: 'other',
    readOnly: true,
    idempotent: true,
    destructive: false,
  });
  // What makes it look worse is believed of anybody.
  expect(of(distrusted, 'mcp_real_fail')).toEqual({ category: 'other', destructive: true });
});

test('without a rule a call is asked about, and runs on approval; a trusted read-only one runs', async () => {
  const asked: unknown[] = [];
  const elicitation = async (request: { context?: unknown }) => {
    asked.push(request.context);
    return { action: 'accept' as const };
  };
  const entries = [call('mcp_real_echo', { text: 'hi' })];
  const first = await runScript({ servers: { real: stdioServer() } }, entries, { policy: [], elicitation });
  expect(responsesIn(first.events).map(textIn)).toEqual(['hi']);
  expect(asked).toMatchObject([
    { tool: 'mcp_real_echo', args: { text: 'hi' }, kind: 'mcp', mcp: { server: 'real', tool: 'echo' } },
  ]);
  const trusted = { real: stdioServer([], {}, { trust: true }) };
  const second = await runScript({ servers: trusted }, entries, { policy: [], elicitation });
  expect(responsesIn(second.events).map(textIn)).toEqual(['hi']);
  expect(asked).toHaveLength(1);
});

test('"always" for a server is for all of its tools and no other server; of a tool of the host it is not offered', async () => {
  const asked: string[] = [];
  const offered: unknown[] = [];
  const elicitation = async ({ context, requestedSchema }: { context?: Bag; requestedSchema?: Bag }) => {
    asked.push(String(context?.tool));
    offered.push(JSON.stringify(requestedSchema).includes('proceed_always_server'));
    const outcome = asked.length === 1 ? 'proceed_always_server' : 'proceed_once';
    return { action: 'accept' as const, content: { outcome } };
  };
  const { events } = await runScript(
    { servers },
    [
      call('mcp_real_echo', { text: 'hi' }),
      call('mcp_real_links'),
      call('mcp_other_work'),
      call('mcp_real_echo', { text: 'ho' }),
    ],
    { policy: [], elicitation },
  );
  expect(asked).toEqual(['mcp_real_echo', 'mcp_other_work']);
  expect(offered).toEqual([true, true]);
  expect(responsesIn(events)).toHaveLength(4);
});

test('in plan mode a server that is not trusted has no tools, whatever it says of them; a trusted one those that read', async () => {
  const shownOf = async (trust: boolean) => {
    const options = { servers: { real: stdioServer([], {}, { trust }) } };
    const { host, run, model } = mcpHost(options, [call('mcp_real_fail'), { text: 'done' }], { policy: [] });
    const events = await collect(run({ permissionMode: 'plan' }));
    await host.close();
    expect(responsesIn(events)).toMatchObject([{ errorType: 'policy_denied' }]);
    return model.requests[0]?.tools?.map(({ name }) => name);
  };
  expect(await shownOf(false)).toEqual(['exit_plan_mode']);
  expect(await shownOf(true)).toContain('mcp_real_echo');
});

test('rules match by server pattern and by exact name, and hit no other server', async () => {
  const rules = [
    { toolName: 'mcp_real_*', decision: 'deny' as const, denyMessage: 'not that server' },
    { toolName: 'mcp_real_echo', decision: 'allow' as const, priority: 5 },
    { toolName: 'mcp_other_*', decision: 'allow' as const },
  ];
  const { events } = await runScript(
    { servers },
    [call('mcp_real_echo', { text: 'hi' }), call('mcp_real_links'), call('mcp_other_work')],
    { policy: [{ rules }] },
  );
  expect(responsesIn(events).map((event) => event.errorType ?? textIn(event))).toEqual([
    'hi',
    'policy_denied',
    'worked',
  ]);
});

test('a rule for one of two tools whose long names differ at their end hits that one, in both orders of servers (B120, B121)', async () => {
  const long = 'x'.repeat(84);
  const denied = registeredName('a', `${long}x`);
  const others = [registeredName('a', `${long}y`), registeredName('b', `${long}x`), registeredName('b', `${long}y`)];
  const rules = [
    { toolName: '*', decision: 'allow' as const },
    { toolName: denied, decision: 'deny' as const, priority: 1 },
  ];
  for (const order of [
    ['a', 'b'],
    ['b', 'a'],
  ]) {
    const servers = Object.fromEntries(order.map((name) => [name, hostileServer('names')]));
    const entries = [denied, ...others].map((name) => call(name));
    const { events } = await runScript({ servers }, entries, { policy: [{ rules }] });
    const refused = responsesIn(events).filter(({ errorType }) => errorType === 'policy_denied');
    expect(refused.map(({ name }) => name)).toEqual([denied]);
    expect(responsesIn(events)).toHaveLength(4);
  }
});

test('policy and hooks are told the server and its own name for the tool', async () => {
  const judged: unknown[] = [];
  const hooked: unknown[] = [];
  const { events } = await runScript({ servers: { real: stdioServer() } }, [call('mcp_real_echo', { text: 'hi' })], {
    policy: [
      { rules: [{ toolName: '*', decision: 'allow' }] },
      {
        evaluate({ action, context }) {
          judged.push([action, context?.mcpName]);
          return { outcome: 'allow' };
        },
      },
    ],
    hooks: [
      defineHook('before_tool', async ({ tool, mcp }) => {
        hooked.push([tool, mcp]);
        return { action: 'proceed' };
      }),
    ],
  });
  expect(responsesIn(events).map(textIn)).toEqual(['hi']);
  expect(judged).toContainEqual(['mcp_real_echo', 'real']);
  expect(hooked).toEqual([['mcp_real_echo', { server: 'real', tool: 'echo' }]]);
});

test('a sandbox wraps the servers that the host starts, and without a working one they are not started', async () => {
  const wrapped: unknown[] = [];
  const sandbox = (works: boolean) => ({
    wrap(command: string, args: readonly string[], { root }: { root: string }) {
      wrapped.push([command, root]);
      return { command, args: [...args, 'wrapped'] };
    },
    available: async () => works,
  });
  const real = stdioServer([], {}, { cwd: 'test' });
  const first = await runScript({ servers: { real }, sandbox: sandbox(true) }, [call('mcp_real_place')]);
  expect(JSON.parse(textIn(responsesIn(first.events)[0]))).toMatchObject({ args: ['wrapped'] });
  expect(wrapped).toEqual([[process.execPath, expect.stringMatching(/^([A-Z]:)?[\\/].*[\\/]test$/)]]);
  const second = await runScript({ servers: { real }, sandbox: sandbox(false) }, []);
  expect(second.tools).toEqual([]);
  expect(second.notices).toMatchObject([{ code: 'MCP_SERVER_FAILED', text: expect.stringContaining('sandbox') }]);
  expect(wrapped).toHaveLength(1);
});

test('a host without servers opens nothing', async () => {
  await using host = createHost({ tools: [mcpTools({ servers: {} })] });
  expect(host).toBeDefined();
});
