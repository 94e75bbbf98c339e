import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AgentEvent, ElicitationRequest } from '../../../src/contracts/index.js';
import { agent, createHost, parallel } from '../../../src/index.js';
import { scriptedModel, virtualClock } from '../../../src/testing/index.js';
import { mcpTools } from '../../../src/tools/mcp.js';
import { type McpHttpServer, mcpHttpServer } from '../../support/mcp-http.js';
import { createWitness, type Witness } from '../../support/mcp-witness.js';
import { collect } from '../../support/team.js';
import { call, hostileServer, mcpHost, noticesIn, responsesIn, runScript, stdioServer, textIn } from './hosted.js';
import '../../support/process-limit.js';

let web: McpHttpServer | undefined;
afterEach(async () => {
  await web?.close();
  web = undefined;
});

const transports: [string, () => Promise<Parameters<typeof runScript>[0]['servers'][string]>][] = [
  ['stdio, both generations', async () => stdioServer(['dual'])],
  ['stdio, legacy', async () => stdioServer(['legacy'])],
  ['HTTP, modern', async () => webServer('modern')],
  ['HTTP, legacy', async () => webServer('legacy')],
];

async function webServer(kind: 'modern' | 'legacy') {
  web = await mcpHttpServer(kind);
  return { url: web.url };
}

describe.each(transports)('a question of a server over %s', (_, make) => {
  test('is a question of the call, and its answer goes back with the defaults', async () => {
    const asked: ElicitationRequest[] = [];
    const { events } = await runScript({ servers: { real: await make() } }, [call('mcp_real_ask')], {
      elicitation: async (request) => {
        asked.push(request);
        return { action: 'accept', content: { name: 'Ada' } };
      },
    });
    expect(responsesIn(events).map(textIn)).toEqual(['Ada is 30']);
    expect(asked).toMatchObject([
      {
        title: 'The MCP server "real" asks',
        message: 'Who are you?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' }, age: { default: 30 } } },
        context: { kind: 'mcp', mcp: { server: 'real' }, toolRequestId: 'c1' },
      },
    ]);
  });

  test.each(['decline', 'cancel'] as const)('that is answered with %s says so', async (action) => {
    const { events } = await runScript({ servers: { real: await make() } }, [call('mcp_real_ask')], {
      elicitation: async () => ({ action }),
    });
    expect(responsesIn(events).map(textIn)).toEqual([`not told: ${action}`]);
  });
});

test('with nobody to ask a question is cancelled, and the call goes on', async () => {
  const { events } = await runScript({ servers: { real: stdioServer() } }, [call('mcp_real_ask')], {
    elicitation: 'deny',
  });
  expect(responsesIn(events).map(textIn)).toEqual(['not told: cancel']);
});

test('an answer that does not fit is refused, and the question stays open', async () => {
  const { host, run } = mcpHost({ servers: { real: stdioServer() } }, [call('mcp_real_ask'), { text: 'done' }]);
  const running = run();
  const events: AgentEvent[] = [];
  for await (const event of running) {
    events.push(event);
    if (event.type !== 'elicitation_request') continue;
    expect(() => running.respond(event.requestId, { action: 'accept', content: { age: 'old' } })).toThrow('name');
    running.respond(event.requestId, { action: 'accept', content: { name: 'Ada', age: 36 } });
  }
  expect(responsesIn(events).map(textIn)).toEqual(['Ada is 36']);
  await host.close();
});

test('the time of a call stands still while a person is asked', async () => {
  const clock = virtualClock();
  let answer = (_: { action: 'accept'; content: { name: string } }) => {};
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const { host, run } = mcpHost(
    { servers: { real: stdioServer() }, callTimeoutMs: 1_000 },
    [call('mcp_real_ask'), { text: 'done' }],
    {
      clock,
      elicitation: () =>
        new Promise((resolve) => {
          answer = resolve;
          asked();
        }),
    },
  );
  const collected = collect(run());
  await isAsked;
  await clock.advance(3_600_000);
  answer({ action: 'accept', content: { name: 'Ada' } });
  expect(responsesIn(await collected).map(textIn)).toEqual(['Ada is 30']);
  await host.close();
});

describe('a server of the older generation does not say which call a question belongs to', () => {
  let witness: Witness;
  beforeEach(async () => {
    witness = await createWitness();
  });
  afterEach(() => witness.close());

  test('without a call under way nobody is asked', async () => {
    const { events } = await runScript(
      { servers: { bad: hostileServer('early-question', witness.env) } },
      [call('mcp_bad_fine')],
      { elicitation: () => ({ action: 'accept' }) },
    );
    expect(events.map((event) => event.type)).not.toContain('elicitation_request');
    const answers = witness.events.map(({ data }) => (data as { result?: unknown } | undefined)?.result);
    expect(answers).toContainEqual({ action: 'cancel' });
  });

  test('with several calls of one session the last is taken', async () => {
    const model = scriptedModel({
      byAgent: {
        one: [call('mcp_bad_work'), { text: 'done' }],
        two: [call('mcp_bad_work'), { text: 'done' }],
      },
    });
    await using host = createHost({
      models: { scripted: model },
      policy: [{ rules: [{ toolName: '*', decision: 'allow' }] }],
      tools: [mcpTools({ servers: { bad: hostileServer('ask', witness.env) } })],
      elicitation: ({ agentId }) => ({ action: 'accept', content: { name: agentId } }),
    });
    const members = ['one', 'two'].map((name) => agent({ name, tools: ['mcp_*'] }));
    const events = await collect(host.run(parallel({ name: 'team', children: members }), 'go'));
    const asked = events.filter((event) => event.type === 'elicitation_request');
    expect(asked.length).toBeGreaterThan(0);
    expect(responsesIn(events).every((event) => event.isError !== true)).toBe(true);
  });

  test('with calls of several sessions nobody is asked: it may be of any', async () => {
    const model = scriptedModel({
      byAgent: { waiting: [call('mcp_bad_work'), { text: 'done' }], asking: [call('mcp_bad_work'), { text: 'done' }] },
    });
    let release = () => {};
    let first = true;
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    await using host = createHost({
      models: { scripted: model },
      policy: [{ rules: [{ toolName: '*', decision: 'allow' }] }],
      tools: [mcpTools({ servers: { bad: hostileServer('ask', witness.env) } })],
      elicitation: ({ agentId }) => {
        if (!first) return { action: 'accept', content: { name: agentId } };
        first = false;
        return new Promise((resolve) => {
          release = () => resolve({ action: 'accept', content: { name: 'late' } });
          asked();
        });
      },
    });
    const run = (name: string) => collect(host.run(agent({ name, tools: ['mcp_*'] }), 'go'));
    const waiting = run('waiting');
    await isAsked;
    const asking = await run('asking');
    expect(asking.map((event) => event.type)).not.toContain('elicitation_request');
    expect(responsesIn(asking).map(textIn)).toEqual(['{"action":"cancel"}']);
    expect(noticesIn(asking)).toMatchObject([{ code: 'MCP_QUESTION_REFUSED' }]);
    release();
    expect(responsesIn(await waiting).map(textIn)).toEqual(['{"action":"accept","content":{"name":"late"}}']);
  });

  test('a question that cannot be asked is refused, and the call goes on', async () => {
    const { events } = await runScript(
      { servers: { bad: hostileServer('odd-questions', witness.env) } },
      [call('mcp_bad_work')],
      { elicitation: () => ({ action: 'accept' }) },
    );
    expect(responsesIn(events).map(textIn)).toEqual(['asked']);
    expect(events.map((event) => event.type)).not.toContain('elicitation_request');
  });
});

test('a call that is aborted while a person is asked withdraws the question', async () => {
  const { host, run } = mcpHost({ servers: { real: stdioServer() } }, [call('mcp_real_ask'), { text: 'done' }]);
  const running = run();
  const events: AgentEvent[] = [];
  for await (const event of running) {
    events.push(event);
    if (event.type === 'elicitation_request') running.abort('never mind', { requestId: 'c1' });
  }
  expect(events.filter((event) => event.type === 'elicitation_response')).toMatchObject([{ action: 'cancel' }]);
  expect(responsesIn(events)).toMatchObject([{ errorType: 'cancelled' }]);
  await host.close();
});

test('for the sake of one call a person is asked 50 times at most, and the call goes on', async () => {
  let asked = 0;
  const { events } = await runScript({ servers: { bad: hostileServer('many-questions') } }, [call('mcp_bad_work')], {
    elicitation: async () => {
      asked++;
      return { action: 'decline' };
    },
  });
  expect(asked).toBe(50);
  expect(responsesIn(events).map(textIn)).toEqual(['asked']);
});
