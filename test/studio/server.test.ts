import { request as httpRequest } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, type HostOptions, loop, parallel, sequential, tool } from '../../src/index.js';
import type { Command, LogPage, MachineStep, Overview, SessionPlan, ToldSteps } from '../../src/studio/wire.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';
import { leaf, logOf } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function studio(team: AgentDefinition, byAgent: Record<string, unknown>, options: HostOptions = {}) {
  const host = createHost({ models: { scripted: scriptedModel({ byAgent } as never) }, agents: [team], ...options });
  closing.push(() => host.close());
  const server = await host.inspectServer();
  const base = new URL(server.url);
  const token = base.searchParams.get('token') ?? '';
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(new URL(path, base), { headers: { authorization: `Bearer ${token}` } });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const command = async (body: Omit<Command, 'host'> & Record<string, unknown>) => {
    const response = await fetch(new URL('/api/command', base), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ host: '1', ...body }),
    });
    return {
      status: response.status,
      ...((await response.json()) as { sessionId: string; code?: string; message?: string }),
    };
  };
  return { host, server, base, token, get, command };
}

type Studio = Awaited<ReturnType<typeof studio>>;

/** Reads a session's stream until `until` says so. */
async function listen(
  { base, token }: Studio,
  session: string,
  until: (events: AgentEvent[], names: string[], steps: MachineStep[]) => boolean,
  options: { after?: number; lastEventId?: number; steps?: boolean } = {},
) {
  const leaving = new AbortController();
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (options.lastEventId !== undefined) headers['last-event-id'] = String(options.lastEventId);
  const url = new URL(
    `/api/sessions/1/${session}/stream?after=${options.after ?? 0}${options.steps ? '&steps=1' : ''}`,
    base,
  );
  const response = await fetch(url, { headers, signal: leaving.signal });
  const events: AgentEvent[] = [];
  const steps: MachineStep[] = [];
  const names: string[] = [];
  const eventIds: string[] = [];
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = Object.fromEntries(
        text
          .slice(0, end)
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      text = text.slice(end + 2);
      if (lines.event === undefined) continue;
      names.push(lines.event);
      if (lines.id !== undefined) eventIds.push(lines.id);
      if (lines.event === 'events') events.push(...(JSON.parse(lines.data ?? '[]') as AgentEvent[]));
      if (lines.event === 'states') steps.push(...(JSON.parse(lines.data ?? '[]') as MachineStep[]));
    }
    if (until(events, names, steps)) break;
  }
  leaving.abort();
  return { events, names, steps, eventIds };
}

const hasEnded = (events: AgentEvent[]) =>
  events.some((event) => event.type === 'stream_end' && event.threadId === undefined);

test('a run that is started from the page is seen whole, event by event, and its machines step by step', async () => {
  const team = sequential({
    name: 's',
    children: [parallel({ name: 'p', children: [leaf('a'), leaf('b')] }), leaf('c')],
  });
  const one = await studio(team, { a: [{ text: ['A', 'A'] }], b: [{ text: 'B' }], c: [{ text: 'C' }] });
  const { sessionId, status } = await one.command({ command: 'start', agent: 's', input: 'go' });
  expect(status).toBe(200);
  const { events } = await listen(one, sessionId, hasEnded);
  const seqs = events.map(({ seq }) => seq);
  expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
  const overview = await one.get<Overview>('/api/overview');
  expect(overview.hosts[0]).toMatchObject({
    id: '1',
    agents: [{ name: 's' }],
    sessions: [{ id: sessionId, isRunning: false }],
  });
});

test('an approval raised three levels deep is answered, states light up on the way', async () => {
  let runs = 0;
  const danger = tool({
    name: 'danger',
    description: 'd',
    parameters: { type: 'object' },
    execute: () => `ran ${++runs}`,
  });
  const team = sequential({
    name: 's',
    children: [
      loop({
        name: 'l',
        maxIterations: 1,
        children: [parallel({ name: 'p', children: [agent({ name: 'a', tools: [danger] }), leaf('b')] })],
      }),
    ],
  });
  const one = await studio(team, {
    a: [{ toolCalls: [{ name: 'danger', args: {} }] }, { text: 'done' }],
    b: [{ text: 'B' }],
  });
  const { sessionId } = await one.command({ command: 'start', agent: 's', input: 'go' });
  let isAnswered = false;
  const { steps } = await listen(
    one,
    sessionId,
    (events) => {
      const question = events.find((event) => event.type === 'elicitation_request');
      if (question?.type === 'elicitation_request' && !isAnswered) {
        isAnswered = true;
        void one.command({
          command: 'respond',
          session: sessionId,
          requestId: question.requestId,
          answer: { action: 'accept' },
        });
      }
      return hasEnded(events);
    },
    { steps: true },
  );
  expect(runs).toBe(1);
  expect(steps.filter(({ threadId }) => threadId.endsWith('a_1')).map(({ value }) => value)).toContain('awaitingTool');
  const plan = await one.get<SessionPlan>(`/api/sessions/1/${sessionId}/plan`);
  for (const { machine } of steps) expect(Object.keys(plan.machines)).toContain(machine);
  expect(plan.machineOf).toEqual({ s: 'sequential', l: 'loop', p: 'parallel', a: 'session', b: 'session' });
  expect(plan.team).toContain('data-ref="a"');
  expect(plan.machines.session).toContain('data-ref="session.awaitingTool"');
});

test('steps from before anybody looked are told by the log, of a session that is open and of a stored one', async () => {
  const team = sequential({ name: 's', children: [leaf('a'), leaf('b')] });
  const one = await studio(team, { a: [{ text: 'A' }], b: [{ text: 'B' }] });
  const { sessionId } = await one.host.run(team, 'go').result;
  expect((await listen(one, sessionId, hasEnded, { steps: true })).names[0]).toBe('hears');
  expect((await listen(one, sessionId, hasEnded)).names).not.toContain('hears');
  const { steps } = await one.get<ToldSteps>(`/api/sessions/1/${sessionId}/steps`);
  expect(steps.filter(({ machine }) => machine === 'sequential').map(({ value }) => value)).toEqual([
    'running',
    'running',
    'concluding',
    'ended',
  ]);
  const ofChild = await one.get<ToldSteps>(`/api/sessions/1/${sessionId}/steps?thread=b_2`);
  expect(ofChild.steps.map(({ value }) => value)).toEqual(['idle', 'running', 'ended']);
  expect((await one.get<ToldSteps>(`/api/sessions/1/${sessionId}/steps?thread=nobody`)).steps).toEqual([]);
});

test('whoever comes back with the last id misses nothing, and hears nothing twice', async () => {
  const team = loop({ name: 'l', maxIterations: 5, children: [leaf('a')] });
  const one = await studio(team, { a: Array.from({ length: 5 }, (_, at) => ({ text: [`${at}`, '!'] })) });
  const { sessionId } = await one.command({ command: 'start', agent: 'l', input: 'go' });
  const first = await listen(one, sessionId, (events) => events.length > 5);
  const last = first.events[3]?.seq ?? 0;
  const second = await listen(one, sessionId, hasEnded, { lastEventId: last });
  const all = [...first.events.filter(({ seq }) => seq <= last), ...second.events];
  const seqs = all.map(({ seq }) => seq);
  expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
  const log = await logOf({ load: (id) => one.host.list().then(() => ({ events: one.host.attach(id) })) }, sessionId);
  const logged = new Set(all.map(({ id }) => id));
  for (const event of log) if (event.type !== 'message') expect(logged.has(event.id)).toBe(true);
});

test('an id that a stream of another session gave is refused, also where both are in one host', async () => {
  const one = await studio(leaf('a'), { a: [{ text: 'the secret of A' }, { text: 'B' }] });
  const first = await one.host.run(leaf('a'), 'go').result;
  const second = await one.host.run(leaf('a'), 'go').result;
  const { eventIds } = await listen(one, first.sessionId, hasEnded);
  const ask = async (sessionId: string, id: string) => {
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${one.token}`, 'last-event-id': id };
    const url = new URL(`/api/sessions/1/${sessionId}/stream`, one.base);
    const response = await fetch(url, { headers, signal: leaving.signal });
    const refusal = response.ok ? undefined : ((await response.json()) as unknown);
    leaving.abort();
    return refusal;
  };
  const refused = { code: 'INVALID_OPTION', message: expect.stringContaining('no event of this session') };
  for (const id of [...eventIds, `${first.sessionId}:1`, ':1', 'x', '-1', '1.5', '1e3', '9'.repeat(30)])
    expect(await ask(second.sessionId, id), id).toEqual(refused);
  for (const id of [...eventIds, `${first.sessionId}:0`, '3', ''])
    expect(await ask(first.sessionId, id)).toBe(undefined);
});

test('a stored session is read in pages, and the pages are the log', async () => {
  const team = loop({ name: 'l', maxIterations: 6, children: [leaf('a')] });
  const one = await studio(team, { a: Array.from({ length: 6 }, () => ({ text: 'x' })) });
  const { sessionId } = await one.host.run(team, 'go').result;
  const events: AgentEvent[] = [];
  let next: number | undefined = 0;
  let pages = 0;
  while (next !== undefined) {
    const page: LogPage = await one.get<LogPage>(`/api/sessions/1/${sessionId}/log?after=${next}&limit=7`);
    events.push(...page.events);
    next = page.next;
    pages++;
  }
  expect(pages).toBeGreaterThan(2);
  expect(validateLog(events)).toEqual([]);
  expect(events.at(-1)?.type).toBe('stream_end');
});

test('the log of a run that waits is read to where it stands', async () => {
  const ask = tool({ name: 'ask', description: 'a', parameters: { type: 'object' }, execute: () => 'x' });
  const one = await studio(agent({ name: 'a', tools: [ask] }), { a: [{ toolCalls: [{ name: 'ask', args: {} }] }] });
  const { sessionId } = await one.command({ command: 'start', agent: 'a', input: 'go' });
  await listen(one, sessionId, (events) => events.some(({ type }) => type === 'elicitation_request'));
  const { events, lastSeq } = await one.get<LogPage>(`/api/sessions/1/${sessionId}/log`);
  expect(events.at(-1)?.type).toBe('elicitation_request');
  expect(lastSeq).toBeGreaterThanOrEqual(events.at(-1)?.seq ?? Number.NaN);
  // What came last is an update, which is in no log.
  expect((await one.get<LogPage>(`/api/sessions/1/${sessionId}/log?after=${lastSeq}`)).events).toEqual([]);
});

test('a run is steered, its mode changed, one of its threads and then the whole aborted', async () => {
  const stuck = tool({
    name: 'stuck',
    description: 's',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_args, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  });
  const member = (name: string) => agent({ name, tools: [stuck] });
  const team = parallel({ name: 'p', children: [member('a'), member('b')] });
  const call = { toolCalls: [{ name: 'stuck', args: {} }] };
  const one = await studio(team, { a: [call], b: [call] });
  const { sessionId: session } = await one.command({ command: 'start', agent: 'p', input: 'go' });
  const running = (events: AgentEvent[]) =>
    events.filter((event) => event.type === 'custom' && event.kind === 'tool_started').length === 2;
  await listen(one, session, running);
  expect(await one.command({ command: 'steer', session, data: { message: 'hurry' }, threadId: '*' })).toMatchObject({
    status: 200,
  });
  expect(await one.command({ command: 'mode', session, permissionMode: 'plan' })).toMatchObject({ status: 200 });
  expect(await one.command({ command: 'mode', session, permissionMode: 'no such' })).toMatchObject({ status: 400 });
  expect(await one.command({ command: 'abort', session, threadId: 'a_1', reason: 'enough of a' })).toMatchObject({
    status: 200,
  });
  await listen(one, session, (events) =>
    events.some((event) => event.type === 'stream_end' && event.threadId === 'a_1'),
  );
  await one.command({ command: 'abort', session, reason: 'enough' });
  const { events } = await listen(one, session, hasEnded);
  expect(events.some((event) => event.type === 'session_update' && event.permissionMode === 'plan')).toBe(true);
  expect(events.at(-1)).toMatchObject({ reason: 'aborted', data: { reason: 'enough' } });
  expect(await one.command({ command: 'steer', session, data: { message: 'late' } })).toMatchObject({ status: 404 });
});

test('a session is forked, goes on with another message, and taken back; who watches is told to load anew', async () => {
  const one = await studio(leaf('a'), { a: [{ text: '1' }, { text: '2' }, { text: '3' }] });
  const { sessionId: session } = await one.command({ command: 'start', agent: 'a', input: 'go' });
  const first = await listen(one, session, hasEnded);
  const end = first.events.at(-1)?.seq ?? 0;
  const fork = await one.command({ command: 'fork', session, at: end });
  expect(fork.sessionId).not.toBe(session);
  await one.command({ command: 'message', session, input: 'more' });
  const second = await listen(
    one,
    session,
    (events) => events.filter(({ type }) => type === 'stream_end').length === 2,
  );
  const watching = listen(one, session, (_events, names) => names.includes('resync'), {
    after: second.events.at(-1)?.seq ?? 0,
  });
  // The page is there before the cut.
  await one.get('/api/overview');
  expect(await one.command({ command: 'rewind', session, to: end })).toMatchObject({ status: 200 });
  expect((await watching).names).toContain('resync');
  // Who comes back later with what it knew then is told as well; who reads all anew is not.
  const late = await listen(one, session, (_events, names) => names.includes('resync'), {
    after: second.events.at(-1)?.seq ?? 0,
  });
  expect(late.names).toContain('resync');
  const again = await one.command({ command: 'message', session, input: 'other' });
  expect(again.status).toBe(200);
  const third = await listen(one, session, (events) => events.filter(({ type }) => type === 'stream_end').length === 2);
  expect(third.names).not.toContain('resync');
  expect(JSON.stringify(third.events)).toContain('other');
  expect(JSON.stringify(third.events)).not.toContain('more');
});

test('a message to a session whose run broke off is refused in words, and its run can be gone on with', async () => {
  const stuck = tool({
    name: 'stuck',
    description: 's',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_args, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  });
  const one = await studio(agent({ name: 'a', tools: [stuck] }), {
    a: [{ toolCalls: [{ name: 'stuck', args: {} }] }, { text: 'went on' }],
  });
  const first = await one.command({ command: 'start', agent: 'a', input: 'go' });
  const hasBegun = (events: AgentEvent[]) => events.some((event) => event.type === 'tool_request');
  await listen(one, first.sessionId, hasBegun);
  const { sessionId: session } = await one.command({ command: 'fork', session: first.sessionId });
  expect(await one.command({ command: 'message', session, input: 'more' })).toMatchObject({
    status: 400,
    code: 'SESSION_STALE',
  });
  expect(await one.command({ command: 'resume', session })).toMatchObject({ status: 200, sessionId: session });
  const { events } = await listen(one, session, hasEnded);
  expect(events.at(-1)).toMatchObject({ reason: 'completed' });
  await one.command({ command: 'abort', session: first.sessionId });
});

test('without the token, from a foreign page or under a foreign name: 403 and nothing more', async () => {
  const one = await studio(leaf('a'), { a: [] });
  const { hostname, port } = one.base;
  const ask = (path: string, headers: Record<string, string>) =>
    new Promise<[number | undefined, string]>((resolve) => {
      httpRequest({ hostname, port, path, headers }, (response) => {
        let body = '';
        response.on('data', (chunk) => {
          body += chunk;
        });
        response.on('end', () => resolve([response.statusCode, body]));
      }).end();
    });
  for (const path of ['/', '/api/overview', '/assets/app.js', '/api/sessions/1/x/log'])
    for (const headers of [{} as Record<string, string>, { authorization: 'Bearer wrong' }])
      expect(await ask(path, headers)).toEqual([403, '']);
  const right = { authorization: `Bearer ${one.token}` };
  expect(await ask('/api/overview', { ...right, host: 'evil.example' })).toEqual([403, '']);
  expect(await ask('/api/overview', { ...right, origin: 'https://evil.example' })).toEqual([403, '']);
  expect((await ask('/api/overview', right))[0]).toBe(200);
  const page = await fetch(one.server.url);
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
});

test('what is no command, no session and no path is refused in words', async () => {
  const one = await studio(leaf('a'), { a: [] });
  expect(await one.command({ command: 'dance' } as never)).toMatchObject({ status: 400, code: 'INVALID_OPTION' });
  expect(await one.command({ command: 'start', agent: 'nobody', input: 'x' })).toMatchObject({
    status: 400,
    code: 'UNKNOWN_AGENT',
  });
  expect(await one.command({ command: 'abort', session: 'nobody' })).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  await expect(one.get('/api/sessions/1/nobody/log')).rejects.toThrow('404');
  await expect(one.get('/api/sessions/9/nobody/log')).rejects.toThrow('404');
  await expect(one.get('/api/sessions/1/..%2F..%2Fetc/log')).rejects.toThrow(/40\d/);
});

test('a host that is closed closes what shows it', async () => {
  const one = await studio(leaf('a'), { a: [] });
  await one.host.close();
  await expect(fetch(one.server.url)).rejects.toThrow();
});
