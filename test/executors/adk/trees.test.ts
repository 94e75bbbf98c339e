import {
  AgentTool,
  BaseAgent,
  createEvent,
  type Event,
  EXIT_LOOP,
  FunctionTool,
  LlmAgent,
  LoopAgent,
  ParallelAgent,
  SequentialAgent,
  Workflow,
} from '@google/adk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agent, createHost, transfer } from '../../../src/index.js';
import { findBrokenPairs } from '../../../src/kernel/history.js';
import { expectNoLeaks, scriptedModel, validateLog } from '../../../src/testing/index.js';
import { collect } from './collect.js';
import { ScriptedLlm } from './scripted-llm.js';

const adk = (root: unknown, name = 'legacy') => agent({ name, executor: 'adk', backend: { agent: root } });
const saysLast = (model: ScriptedLlm, call = 0) => JSON.stringify(model.requests[call]?.contents.at(-1));

describe('a tree of ADK becomes a team of ours', () => {
  test('SequentialAgent: in order, each sees what was asked and said, state through outputKey', async () => {
    const first = new ScriptedLlm([{ text: 'a draft' }]);
    const second = new ScriptedLlm([{ text: 'a better one' }]);
    const root = new SequentialAgent({
      name: 'pipeline',
      subAgents: [
        new LlmAgent({ name: 'writer', model: first, outputKey: 'draft' }),
        new LlmAgent({ name: 'editor', model: second, instruction: 'Improve: {draft}' }),
      ],
    });
    await using host = createHost({});
    expect(host.describe(adk(root))).toMatchObject({
      name: 'legacy',
      executor: 'composition',
      composition: { pattern: 'sequential', children: ['writer', 'editor'] },
    });
    const run = host.run(adk(root), 'write of rain');
    const events = await collect(run);
    expect(validateLog(events)).toEqual([]);
    expect((await run.result).text).toBe('a better one');
    expect(second.requests[0]?.config?.systemInstruction).toContain('Improve: a draft');
    expect(saysLast(second)).toContain('write of rain');
    expect(saysLast(second)).toContain('[writer] said: a draft');
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'session_update', stateDelta: { draft: 'a draft' } }),
    );
    expect(events.filter(({ type }) => type === 'agent_started').map((event) => event.threadId)).toEqual([
      'writer_1',
      'editor_2',
    ]);
  });

  test('ParallelAgent: side by side, one result each', async () => {
    const root = new ParallelAgent({
      name: 'both',
      subAgents: [
        new LlmAgent({ name: 'a', model: new ScriptedLlm([{ text: 'one' }]) }),
        new LlmAgent({ name: 'b', model: new ScriptedLlm([{ text: 'two' }]) }),
      ],
    });
    await using host = createHost({});
    expect((await host.run(adk(root), 'go').result).result).toEqual({ a: 'one', b: 'two' });
  });

  test('LoopAgent: until a tool escalates or EXIT_LOOP is called, at most its iterations', async () => {
    const stop = new FunctionTool({
      name: 'stop',
      description: 'Stops.',
      execute: (_, context) => {
        if (context !== undefined) context.actions.escalate = true;
        return 'stopping';
      },
    });
    const calls = (name: string) =>
      new ScriptedLlm([{ text: 'again' }, { toolCalls: [{ name, args: {} }] }, { text: 'never' }]);
    for (const [name, model, tools] of [
      ['stop', calls('stop'), [stop]],
      ['exit_loop', calls('exit_loop'), [EXIT_LOOP]],
    ] as const) {
      const root = new LoopAgent({
        name: 'loop',
        maxIterations: 5,
        subAgents: [new LlmAgent({ name: 'critic', model, tools: [...tools] })],
      });
      await using host = createHost({
        policy: [{ rules: [{ toolName: '*', decision: 'allow', priority: 1 }], tier: 'user' }],
      });
      const { ok, data } = await host.run(adk(root), 'go').result;
      expect([name, ok, data.exit, data.iterations, model.requests.length]).toEqual([name, true, 'escalated', 2, 2]);
    }
  });

  test('agents as tools become children on threads of their own, under the host’s policy', async () => {
    const ran: string[] = [];
    const spend = new FunctionTool({ name: 'spend', description: 'Spends.', execute: () => void ran.push('spent') });
    const clerk = new LlmAgent({
      name: 'clerk',
      description: 'Pays.',
      model: new ScriptedLlm([{ toolCalls: [{ name: 'spend', args: {} }] }, { text: 'could not' }]),
      tools: [spend],
    });
    const model = new ScriptedLlm([
      { toolCalls: [{ name: 'clerk', args: { prompt: 'pay 5' } }] },
      { text: 'not paid' },
    ]);
    const root = new LlmAgent({ name: 'legacy', model, tools: [new AgentTool({ agent: clerk })] });
    await using host = createHost({ elicitation: 'deny' });
    const run = host.run(adk(root), 'pay');
    const events = await collect(run);
    expect(validateLog(events)).toEqual([]);
    expect(ran).toEqual([]);
    expect(events.find((event) => event.type === 'tool_response' && event.name === 'clerk.spend')).toMatchObject({
      errorType: 'policy_denied',
      threadId: 'clerk_1',
    });
    expect((await run.result).text).toBe('not paid');
  });

  test('an agent tool is called as ADK declares it, with a request; a handover as ADK says it, with an agentName', async () => {
    const clerk = new ScriptedLlm([{ text: 'paid' }]);
    const boss = new ScriptedLlm([
      { toolCalls: [{ id: 'c1', name: 'clerk', args: { request: 'pay 5' } }] },
      { toolCalls: [{ id: 'c2', name: 'transfer_to_agent', args: { agentName: 'other' } }] },
    ]);
    const root = new LlmAgent({
      name: 'boss',
      model: boss,
      tools: [new AgentTool({ agent: new LlmAgent({ name: 'clerk', model: clerk }) })],
      subAgents: [new LlmAgent({ name: 'other', model: new ScriptedLlm([{ text: 'mine now' }]) })],
    });
    await using host = createHost({});
    const run = host.run(adk(root), 'pay');
    const events = await collect(run);
    expect(validateLog(events)).toEqual([]);
    expect((await run.result).text).toBe('mine now');
    expect(clerk.requests[0]?.contents.at(-1)?.parts).toEqual([{ text: 'pay 5' }]);
    expect(boss.requests[0]?.config?.tools).toMatchObject([
      {
        functionDeclarations: [
          { name: 'clerk', parametersJsonSchema: { required: ['request'] } },
          { name: 'transfer_to_agent' },
        ],
      },
    ]);
    expect(boss.requests[1]?.contents[1]?.parts?.[0]?.functionCall?.args).toEqual({ request: 'pay 5' });
  });

  test('an agent tool without a summary ends its caller with its result', async () => {
    const clerk = new LlmAgent({ name: 'clerk', model: new ScriptedLlm([{ text: 'paid' }]) });
    const model = new ScriptedLlm([{ toolCalls: [{ name: 'clerk', args: { prompt: 'pay' } }] }]);
    const root = new LlmAgent({
      name: 'boss',
      model,
      tools: [new AgentTool({ agent: clerk, skipSummarization: true })],
    });
    await using host = createHost({});
    expect(await host.run(adk(root), 'pay').result).toMatchObject({ ok: true, text: 'paid' });
  });

  test('sub-agents become members of a transfer, with the targets that ADK permits (B046, B056)', async () => {
    const triage = new ScriptedLlm([
      {
        toolCalls: [
          { name: 'transfer_to_agent', args: { target: 'billing' } },
          { name: 'transfer_to_agent', args: { target: 'support' } },
        ],
      },
    ]);
    const billing = new ScriptedLlm([{ text: 'it costs 5' }]);
    const root = new LlmAgent({
      name: 'triage',
      model: triage,
      globalInstruction: 'Speak softly.',
      subAgents: [
        new LlmAgent({ name: 'billing', description: 'Knows prices.', model: billing }),
        new LlmAgent({ name: 'support', model: new ScriptedLlm([]), disallowTransferToPeers: true }),
      ],
    });
    await using host = createHost({});
    expect(host.describe(adk(root)).composition?.transferTargets).toEqual({
      triage: ['billing', 'support'],
      billing: ['triage', 'support'],
      support: ['triage'],
    });
    const run = host.run(adk(root), 'what does it cost?');
    const events = await collect(run);
    expect(validateLog(events)).toEqual([]);
    expect((await run.result).text).toBe('it costs 5');
    const responses = events.filter((event) => event.type === 'tool_response');
    expect(responses.map((event) => event.isError === true)).toEqual([false, true]);
    const request = billing.requests[0];
    expect(request?.config?.systemInstruction).toContain('Speak softly.');
    expect(JSON.stringify(triage.requests[0]?.config?.systemInstruction)).toContain('billing: Knows prices.');
    // Every call that the next agent sees has its answer right behind it.
    request?.contents.forEach(({ parts = [] }, at) => {
      const called = parts.flatMap(({ functionCall }) => functionCall?.id ?? []);
      const answered =
        request.contents[at + 1]?.parts?.flatMap(({ functionResponse }) => functionResponse?.id ?? []) ?? [];
      if (called.length > 0) expect(answered).toEqual(called);
    });
  });

  test('the agent that hands over may have the name of the whole', async () => {
    const root = new LlmAgent({
      name: 'legacy',
      model: new ScriptedLlm([{ text: 'me' }]),
      subAgents: [new LlmAgent({ name: 'other', model: new ScriptedLlm([]) })],
    });
    await using host = createHost({});
    expect((await host.run(adk(root), 'who?').result).text).toBe('me');
  });
});

describe('a handover between ADK and our own agents', () => {
  const paired = (
    contents: readonly { parts?: { functionCall?: { id?: string }; functionResponse?: { id?: string } }[] }[],
  ) =>
    contents.every(({ parts = [] }, at) => {
      const called = parts.flatMap(({ functionCall }) => functionCall?.id ?? []);
      const answered = contents[at + 1]?.parts?.flatMap(({ functionResponse }) => functionResponse?.id ?? []) ?? [];
      return called.length === 0 || String(called) === String(answered);
    });

  test('there and back leaves every call with its answer (B046)', async () => {
    const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
    const model = new ScriptedLlm([
      { toolCalls: [{ id: 'a1', name: 'look', args: {} }] },
      { toolCalls: [{ id: 'a2', name: 'transfer_to_agent', args: { target: 'ours' } }] },
    ]);
    const ours = scriptedModel([
      { toolCalls: [{ id: 'o1', name: 'transfer_to_agent', args: { target: 'legacy' } }] },
      { text: 'the end' },
    ]);
    const team = transfer({
      name: 'desk',
      members: [agent({ name: 'ours', model: 'scripted' }), adk(new LlmAgent({ name: 'x', model, tools: [look] }))],
      start: 'ours',
    });
    const policy = [{ tier: 'user' as const, rules: [{ toolName: '*', decision: 'allow' as const, priority: 1 }] }];
    await using host = createHost({ models: { scripted: ours }, policy });
    const run = host.run(team, 'who?');
    const events = await collect(run);
    expect(validateLog(events)).toEqual([]);
    expect((await run.result).text).toBe('the end');
    for (const { contents } of model.requests) expect(paired(contents)).toBe(true);
    for (const { messages } of ours.requests) expect(findBrokenPairs(messages)).toEqual([]);
    // What was said before is known on the other side.
    expect(JSON.stringify(model.requests[0]?.contents)).toContain('who?');
    expect(JSON.stringify(ours.requests[1]?.messages)).toContain('seen');
  });
});

describe('what ADK runs in a way of its own', () => {
  class Own extends BaseAgent {
    override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
      yield createEvent({ author: this.name, content: { role: 'model', parts: [{ text: 'by myself' }] } });
    }
    override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
  }
  const grant = {
    rules: [{ toolName: 'legacy', decision: 'allow' as const, priority: 1, context: { opaque: true } }],
    tier: 'user' as const,
  };

  test.each([
    ['a custom BaseAgent', () => new Own({ name: 'own' })],
    [
      'an LlmAgent whose class runs it otherwise',
      () => {
        class Mine extends LlmAgent {
          protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
            yield createEvent({ author: this.name, content: { role: 'model', parts: [{ text: 'by myself' }] } });
          }
        }
        return new Mine({ name: 'mine', model: new ScriptedLlm([]) });
      },
    ],
    [
      'a container with callbacks',
      () =>
        new SequentialAgent({
          name: 'seq',
          subAgents: [new Own({ name: 'own' })],
          beforeAgentCallback: () => undefined,
        }),
    ],
    ['a workflow', () => new Workflow({ name: 'wf', edges: [['START', new Own({ name: 'own' })]] as never })],
  ])('%s is refused, unless a rule grants it by name; then it says so once', async (_, make) => {
    await using strict = createHost({});
    expect(() => strict.run(adk(make()), 'go')).toThrow(expect.objectContaining({ code: 'CANNOT_ENFORCE' }));
    await using host = createHost({ policy: [grant] });
    const session = host.session(adk(make()));
    const events = [];
    for (const content of ['go', 'again'])
      for await (const event of session.stream({ kind: 'message', content }).stream) events.push(event);
    const notices = events.filter((event) => event.type === 'custom' && event.kind === 'notice');
    expect(notices.map((event) => (event as { data?: { code?: string } }).data?.code)).toEqual(['OPAQUE_AGENT']);
    const said = events.flatMap((event) => (event.type === 'message' && event.role === 'agent' ? event.content : []));
    expect(said).toEqual([
      { type: 'text', text: 'by myself' },
      { type: 'text', text: 'by myself' },
    ]);
    expect(validateLog(events)).toEqual([]);
    await session.close();
  });

  test('shows its own calls, asks in the inbox what it must confirm, and tells its tokens once', async () => {
    const ran: unknown[] = [];
    const danger = new FunctionTool({
      name: 'danger',
      description: 'Does it.',
      parameters: z.object({ n: z.number() }),
      requireConfirmation: true,
      execute: ({ n }) => {
        ran.push(n);
        return { done: n };
      },
    });
    const model = new ScriptedLlm([
      { toolCalls: [{ id: 'd1', name: 'danger', args: { n: 1 } }], usage: { inputTokens: 5, outputTokens: 1 } },
      { text: ['all ', 'done'], usage: { inputTokens: 9, outputTokens: 2 } },
    ]);
    class Mine extends LlmAgent {
      protected override runAsyncImpl(context: Parameters<LlmAgent['runAsync']>[0]) {
        return super.runAsyncImpl(context);
      }
    }
    await using host = createHost({ policy: [grant] });
    const run = host.run(adk(new Mine({ name: 'mine', model, tools: [danger] })), 'go');
    const events = await collect(run, (event) => {
      if (event.type !== 'elicitation_request') return;
      expect([event.kind, event.context]).toEqual(['tool_confirmation', { tool: 'danger' }]);
      expect(ran).toEqual([]);
      run.respond(event.requestId, { action: 'accept' });
    });
    expect(ran).toEqual([1]);
    expect(await run.result).toMatchObject({ text: 'all done', usage: { inputTokens: 14, outputTokens: 3 } });
    expect(events.find(({ type }) => type === 'tool_response')).toMatchObject({
      name: 'danger',
      _meta: { opaque: true },
    });
    expect(validateLog(events)).toEqual([]);
  });

  test('is let go when it ignores that it was aborted', async () => {
    await expectNoLeaks(async () => {
      let release: () => void = () => {};
      class Deaf extends BaseAgent {
        override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
          await new Promise<void>((resolve) => {
            release = resolve;
          });
          yield createEvent({ author: this.name });
        }
        override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
      }
      const host = createHost({ policy: [grant] });
      const run = host.run(adk(new Deaf({ name: 'deaf' })), 'go');
      await collect(run, (event) => {
        if (event.type === 'message') setImmediate(() => run.abort('enough'));
      });
      expect(await run.result).toMatchObject({ reason: 'aborted', data: { reason: 'enough' } });
      release();
      await host.close();
    });
  });
});
