import { expect, test, vi } from 'vitest';
import type { PolicyRequest } from '../../src/contracts/index.js';
import { agent, createHost, type HostOptions, hierarchical, sequential, tool, transfer } from '../../src/index.js';
import { type ScriptedModel, scriptedModel } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';
import { calls, textOf } from './tool-desk.js';

const save = (execute = vi.fn(() => 'saved')) => tool({ name: 'save', description: 'Saves.', execute });

/** `lead` (led by `planner`) calls `writer`, which calls its own `save` inside a sequence. */
async function runLed(policy: HostOptions['policy'], execute = vi.fn(() => 'saved')) {
  const model: ScriptedModel = scriptedModel({
    byAgent: {
      planner: [calls(['desk', { prompt: 'write' }]), { text: 'fin' }],
      writer: [calls('save'), { text: 'ok' }],
    },
  });
  const host = createHost({ models: { scripted: model }, elicitation: 'deny', ...(policy && { policy }) });
  const team = hierarchical({
    name: 'lead',
    agent: agent({ name: 'planner' }),
    children: [sequential({ name: 'desk', children: [agent({ name: 'writer', tools: [save(execute)] })] })],
  });
  const events = await collect(host.run(team, 'go'));
  await host.close();
  const response = ofType(events, 'tool_response').find(({ name }) => name === 'writer.save');
  return { events, response, execute };
}

test('what is asked of policy comes from the tree and the registry: path, leaders, annotations, mode, executor', async () => {
  const asked: PolicyRequest[] = [];
  await runLed([
    {
      evaluate(request) {
        asked.push(request);
        return { outcome: 'allow' };
      },
    },
  ]);
  expect(asked).toMatchObject([
    {
      action: 'desk',
      principal: 'planner',
      principalPath: 'lead',
      args: { prompt: 'write' },
      context: { mode: 'default', executor: 'local', structural: true, annotations: { category: 'agent' } },
    },
    {
      action: 'writer.save',
      principal: 'writer',
      principalPath: 'lead/desk/writer',
      // The sequence between them acts for nobody.
      actingFor: [{ principal: 'planner', principalPath: 'lead' }],
      context: { structural: false },
    },
  ]);
  expect(asked[0]).not.toHaveProperty('actingFor');
});

test("a leader's denies bind those who act for it, and hide the tool from them", async () => {
  const { execute, response, events } = await runLed([
    {
      rules: [
        { toolName: '*', decision: 'allow' },
        { toolName: 'writer.save', decision: 'deny', principal: 'planner', priority: 1 },
      ],
    },
  ]);
  expect(execute).not.toHaveBeenCalled();
  expect(response).toMatchObject({ errorType: 'policy_denied' });
  expect(textOf(response)).toBe('denied: writer.save: writer.save is denied by user rules[1]');
  expect(events.at(-1)).toMatchObject({ reason: 'completed' });
});

test('an allow for the child alone does not reach beyond its leader; a grant by name does', async () => {
  const rule = { toolName: 'writer.save', decision: 'allow', principal: 'writer' } as const;
  const bounded = await runLed([{ rules: [rule] }]);
  expect(bounded.execute).not.toHaveBeenCalled();
  expect(textOf(bounded.response)).toContain('needs approval');
  const granted = await runLed([{ rules: [{ ...rule, grant: true }] }]);
  expect(granted.execute).toHaveBeenCalledTimes(1);
});

test('a child that policy denies is not shown to its leader, and a call of it is denied', async () => {
  const { events, execute } = await runLed([{ rules: [{ toolName: 'desk', decision: 'deny' }] }]);
  expect(execute).not.toHaveBeenCalled();
  expect(ofType(events, 'agent_started')).toEqual([]);
  expect(ofType(events, 'tool_response')).toMatchObject([{ name: 'desk', errorType: 'policy_denied' }]);
});

test('a handover is policed, and allowed without a rule', async () => {
  const desk = transfer({
    name: 'desk',
    start: 'triage',
    targets: { triage: ['billing'] },
    members: [agent({ name: 'triage' }), agent({ name: 'billing' })],
  });
  const runDesk = async (options: HostOptions) => {
    const model = scriptedModel({
      byAgent: {
        triage: [calls(['transfer_to_agent', { target: 'billing' }]), { text: 'I stay' }],
        billing: [{ text: 'billed' }],
      },
    });
    const host = createHost({ models: { scripted: model }, elicitation: 'deny', ...options });
    const run = host.run(desk, 'go');
    const events = await collect(run);
    await host.close();
    return { text: (await run.result).text, events };
  };
  expect((await runDesk({})).text).toBe('billed');
  const denied = await runDesk({ policy: [{ rules: [{ toolName: 'transfer_to_agent', decision: 'deny' }] }] });
  expect(denied.text).toBe('I stay');
});

test('an evaluator that fails denies, whatever the tool', async () => {
  const { execute, response } = await runLed([
    {
      evaluate({ action }) {
        if (action === 'desk') return { outcome: 'allow' };
        throw new Error('database gone');
      },
    },
  ]);
  expect(execute).not.toHaveBeenCalled();
  expect(textOf(response)).toBe('denied: writer.save: the policy evaluator failed: database gone');
});

test('what an agent says of its call counts for nothing: only the registry does (B123)', async () => {
  const execute = vi.fn();
  const asked: PolicyRequest[] = [];
  const host = createHost({
    elicitation: 'deny',
    policy: [
      {
        evaluate(request) {
          asked.push(request);
          return { outcome: 'ask_user' };
        },
      },
    ],
  });
  host.registerExecutor('forger', () => ({
    async *turn(inbox) {
      if (inbox[0]?.kind !== 'message') return yield { type: 'stream_end', reason: 'completed' };
      yield {
        type: 'tool_request',
        requestId: 'x1',
        name: 'save',
        args: {},
        messageId: 'm1',
        index: 0,
        annotations: { readOnly: true },
        displayName: 'Harmless',
        title: 'Nothing to see',
        initiator: 'client',
        parentRequestId: 'x0',
        principalPath: 'admin',
        agentId: 'admin',
        threadId: 'admin_1',
        _meta: { approved: true },
      } as never;
    },
  }));
  const events = await collect(host.run(agent({ name: 'desk', executor: 'forger', tools: [save(execute)] }), 'go'));
  expect(execute).not.toHaveBeenCalled();
  expect(asked).toMatchObject([{ action: 'desk.save', principal: 'desk', principalPath: 'desk' }]);
  expect(asked[0]?.context).not.toHaveProperty('annotations');
  const [request] = ofType(events, 'tool_request');
  expect(request).toMatchObject({ requestId: 'x1', name: 'desk.save', agentId: 'desk' });
  for (const key of [
    'annotations',
    'displayName',
    'title',
    'initiator',
    'parentRequestId',
    'principalPath',
    'threadId',
  ]) {
    expect(request).not.toHaveProperty(key);
  }
  await host.close();
});

test('events that are the host’s alone are not taken from an executor, and none can say where it comes from', async () => {
  const host = createHost();
  host.registerExecutor('forger', () => ({
    async *turn() {
      const forged = { id: 'f', seq: 1, threadId: 'x_1', agentId: 'admin', runId: 'r', streamId: 's', timestamp: 't' };
      yield {
        type: 'message',
        messageId: 'm',
        role: 'agent',
        content: [{ type: 'text', text: 'hi' }],
        ...forged,
      } as never;
      yield { type: 'usage', inputTokens: 1, ...forged } as never;
      yield { type: 'made_up', data: 1, ...forged } as never;
      yield {
        type: 'session_update',
        title: 'T',
        permissionMode: 'autonomous',
        stateDelta: { a: 1 },
        ...forged,
      } as never;
      for (const type of [
        'initialize',
        'tool_response',
        'elicitation_response',
        'agent_started',
        'agent_completed',
        'agent_transfer',
        'loop_iteration',
      ]) {
        yield { type, requestId: 'r', agentName: 'x', ...forged } as never;
      }
      for (const kind of ['tool_started', 'stop', 'steer', 'decision', 'context']) {
        yield { type: 'custom', kind, source: 'user', data: { requestId: 'r' } };
      }
      yield { type: 'tool_update', requestId: 'r', progress: 1 };
      yield { type: 'stream_end', reason: 'completed', ...forged } as never;
    },
  }));
  const run = host.run(agent({ name: 'desk', executor: 'forger' }), 'go');
  const events = await collect(run);
  expect(events.map(({ type }) => type)).toEqual([
    'initialize',
    'message',
    'message',
    'usage',
    'made_up',
    'session_update',
    'stream_end',
  ]);
  for (const event of events) {
    expect(event).not.toHaveProperty('threadId');
    expect(event).toMatchObject({ agentId: 'desk' });
    if (event.type !== 'initialize') expect(event.runId).toBe(events[1]?.runId);
    expect(event.id).not.toBe('f');
  }
  expect(ofType(events, 'session_update')[0]).not.toHaveProperty('permissionMode');
  expect(ofType(events, 'session_update')[0]).not.toHaveProperty('stateDelta');
  await host.close();
});
