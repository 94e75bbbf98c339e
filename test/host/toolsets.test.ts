import { expect, test } from 'vitest';
import type { AgentEvent, OpenToolset, Toolset, ToolsetContext } from '../../src/contracts/index.js';
import { agent, createHost, parallel, TroupeError, tool } from '../../src/index.js';
import { expectNoLeaks } from '../../src/testing/index.js';
import { collect, deferred, readAll, typesOf } from '../support/team.js';
import { call, gate, hostWith, until } from '../support/teams.js';

/** A toolset in memory: what it is asked and told is written down, its tools are those that it is given. */
function shelf(names: readonly string[], options: { prefixes?: string[]; opens?: Promise<unknown> } = {}) {
  const log: string[] = [];
  const called: string[] = [];
  let tools = names.map(made);
  let listener = () => {};
  let context: ToolsetContext | undefined;
  let readyWork: Promise<void> | undefined;
  const gone = new Set<string>();
  function made(name: string) {
    return tool({
      name,
      description: name,
      parameters: { type: 'object' },
      annotations: { readOnly: true },
      execute() {
        called.push(name);
        return `${name} ran`;
      },
    });
  }
  const toolset: Toolset = {
    kind: 'toolset',
    name: 'shelf',
    prefixes: options.prefixes ?? ['shelf_'],
    async open(given): Promise<OpenToolset> {
      context = given;
      log.push('open');
      await options.opens;
      return {
        ready(prefixes) {
          log.push(`ready ${prefixes.join(' ')}`);
          return readyWork;
        },
        tools: () => tools,
        mayHave: (name) => gone.has(name),
        onChange(told) {
          listener = told;
        },
        async close() {
          log.push('close');
        },
      };
    },
  };
  return {
    toolset,
    log,
    called,
    notify: (text: string) => context?.notify({ code: 'SHELF', severity: 'warning', text }),
    aborted: () => context?.signal.aborted,
    waitFor(work: Promise<void> | undefined) {
      readyWork = work;
    },
    become(...more: string[]) {
      for (const one of tools) if (!more.includes(one.name)) gone.add(one.name);
      tools = more.map(made);
      listener();
    },
  };
}

const toolsOf = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'initialize' ? [(event.tools ?? []).map((one) => one.name)] : []));
const notices = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'custom' && event.kind === 'notice' ? [event.data] : []));

test('a toolset is opened before the first run that may use it, once, and closed with the host', async () => {
  const source = shelf(['shelf_a', 'shelf_b']);
  const { host } = hostWith(
    { reader: [call('shelf_b'), { text: 'ok' }, { text: 'again' }], plain: [{ text: 'ok' }] },
    { tools: [source.toolset] },
  );
  await collect(host.run(agent({ name: 'plain' }), 'go'));
  expect(source.log).toEqual([]);
  const reader = agent({ name: 'reader', tools: ['shelf_*'] });
  const run = host.run(reader, 'go');
  const events = await collect(run);
  expect(toolsOf(events)).toEqual([['shelf_a', 'shelf_b']]);
  expect(source.called).toEqual(['shelf_b']);
  expect(await run.result).toMatchObject({ ok: true, text: 'ok' });
  await collect(host.run(reader, 'go'));
  expect(source.log).toEqual(['open', 'ready shelf_', 'ready shelf_']);
  await host.close();
  expect(source.log.at(-1)).toBe('close');
  expect(source.aborted()).toBe(true);
});

test('an exact name, a pattern, everything inherited, and a child deep in a team all open it', async () => {
  const inheriting = agent({ name: 'a', inheritTools: true } as never);
  for (const [team, given] of [
    [agent({ name: 'a', tools: ['shelf_a'] }), ['shelf_a']],
    [agent({ name: 'a', tools: ['she*'] }), ['shelf_a', 'shelf_b']],
    [agent({ name: 'a', tools: ['shelf_a*'] }), ['shelf_a']],
    [{ ...inheriting, inheritTools: true }, ['shelf_a', 'shelf_b']],
  ] as const) {
    const source = shelf(['shelf_a', 'shelf_b']);
    const { host } = hostWith({ a: [{ text: 'ok' }] }, { tools: [source.toolset] });
    expect(toolsOf(await collect(host.run(team, 'go')))).toEqual([given]);
    expect(source.log[0]).toBe('open');
    await host.close();
  }
  const source = shelf(['shelf_a']);
  const { host } = hostWith({ a: [{ text: 'a' }], b: [call('shelf_a'), { text: 'b' }] }, { tools: [source.toolset] });
  const team = parallel({ name: 'p', children: [agent({ name: 'a' }), agent({ name: 'b', tools: ['shelf_a'] })] });
  await collect(host.run(team, 'go'));
  expect(source.called).toEqual(['shelf_a']);
  await host.close();
});

test('only what an agent may use is waited for', async () => {
  const source = shelf(['one_a', 'two_a'], { prefixes: ['one_', 'two_'] });
  const { host } = hostWith({ a: [{ text: 'ok' }] }, { tools: [source.toolset] });
  await collect(host.run(agent({ name: 'a', tools: ['two_a'] }), 'go'));
  expect(source.log).toEqual(['open', 'ready two_']);
  await host.close();
});

test('faults of a definition are thrown at once, before anything is opened', async () => {
  const source = shelf(['shelf_a']);
  const { host } = hostWith({}, { tools: [source.toolset] });
  const wrong = agent({ name: 'a', tools: ['shelf_a', 'elsewhere'] });
  expect(() => host.run(wrong, 'go')).toThrow('no tool "elsewhere"');
  expect(() => host.session(wrong)).toThrow('no tool "elsewhere"');
  expect(source.log).toEqual([]);
  await host.close();
});

test('a name that the opened toolset lacks fails the run, naming what there is', async () => {
  const source = shelf(['shelf_search']);
  const { host } = hostWith({}, { tools: [source.toolset] });
  const run = host.run(agent({ name: 'a', tools: ['shelf_serch'] }), 'go');
  await expect(run.result).rejects.toMatchObject({
    code: 'UNKNOWN_TOOL',
    message: expect.stringContaining('shelf_search'),
  });
  await expect(readAll(run)).rejects.toMatchObject({ code: 'UNKNOWN_TOOL' });
  await host.close();
});

test('a toolset that cannot be opened fails the run that wanted it, and the next one tries again', async () => {
  const source = shelf(['shelf_a']);
  let tries = 0;
  const failing: Toolset = {
    ...source.toolset,
    open(context) {
      if (tries++ === 0) throw new TroupeError({ code: 'MISSING_PACKAGE', message: 'npm i it' });
      return source.toolset.open(context);
    },
  };
  const { host } = hostWith({ a: [{ text: 'ok' }], b: [{ text: 'ok' }] }, { tools: [failing] });
  const using = agent({ name: 'a', tools: ['shelf_a'] });
  await expect(host.run(using, 'go').result).rejects.toMatchObject({ code: 'MISSING_PACKAGE' });
  expect((await host.run(agent({ name: 'b' }), 'go').result).ok).toBe(true);
  expect((await host.run(using, 'go').result).ok).toBe(true);
  await host.close();
});

test('a run that is aborted while its tools are awaited ends aborted at once, whoever aborts it', async () => {
  for (const how of ['run', 'signal', 'iterator'] as const) {
    const opens = deferred();
    const source = shelf(['shelf_a'], { opens: opens.promise });
    const { host, model } = hostWith({ a: [{ text: 'never' }] }, { tools: [source.toolset] });
    const controller = new AbortController();
    const run = host.run(agent({ name: 'a', tools: ['shelf_a'] }), 'go', { signal: controller.signal });
    if (how === 'run') run.abort('enough');
    if (how === 'signal') controller.abort(new Error('enough'));
    if (how === 'iterator') {
      const iterator = run[Symbol.asyncIterator]();
      const first = iterator.next();
      await iterator.return?.();
      await first;
    }
    expect((await run.result).reason).toBe('aborted');
    expect(model.requests).toHaveLength(0);
    opens.resolve();
    await host.close();
    expect(source.log.at(-1)).toBe('close');
  }
});

test('a host that is closed while a toolset opens refuses the run, and closes the toolset once it is open', () =>
  expectNoLeaks(async () => {
    const opens = deferred();
    const source = shelf(['shelf_a'], { opens: opens.promise });
    const { host } = hostWith({}, { tools: [source.toolset] });
    const run = host.run(agent({ name: 'a', tools: ['shelf_a'] }), 'go');
    await until(() => source.log.includes('open'));
    const closed = host.close();
    await expect(run.result).rejects.toMatchObject({ code: 'HOST_CLOSED' });
    expect(source.aborted()).toBe(true);
    opens.resolve();
    await closed;
    expect(source.log).toEqual(['open', 'close']);
  }));

test('tools that change count for later runs, not for one under way', async () => {
  const source = shelf(['shelf_a']);
  const answers = [call('shelf_a'), { text: 'ok' }, call('shelf_b'), { text: 'ok' }];
  const script = (_: never, at: number) => {
    if (at === 0) source.become('shelf_b');
    return answers[at] ?? { text: 'ok' };
  };
  const { host } = hostWith({ a: script }, { tools: [source.toolset] });
  const using = agent({ name: 'a', tools: ['shelf_*'] });
  const first = await collect(host.run(using, 'go'));
  expect(toolsOf(first)).toEqual([['shelf_a']]);
  expect(toolsOf(await collect(host.run(using, 'go')))).toEqual([['shelf_b']]);
  await host.close();
});

test('a tool that is taken back is missing from later runs and fails none of them', async () => {
  const source = shelf(['shelf_a', 'shelf_b']);
  const { host } = hostWith({ a: [{ text: 'one' }, { text: 'two' }] }, { tools: [source.toolset] });
  const using = agent({ name: 'a', tools: ['shelf_a', 'shelf_b'] });
  await collect(host.run(using, 'go'));
  source.become('shelf_b');
  const run = host.run(using, 'go');
  expect(toolsOf(await collect(run))).toEqual([['shelf_b']]);
  expect((await run.result).ok).toBe(true);
  await host.close();
});

test('a session that goes on takes the changed tools with its next message, and says so', async () => {
  const source = shelf(['shelf_a']);
  const { host } = hostWith(
    { a: [call('shelf_a'), { text: 'one' }, call('shelf_b'), { text: 'two' }, { text: 'three' }] },
    { tools: [source.toolset] },
  );
  const session = host.session(agent({ name: 'a', tools: ['shelf_*'] }));
  const say = (text: string) => readAll(session.stream({ kind: 'message', content: text }).stream);
  const all = [...(await say('one'))];
  source.become('shelf_b');
  const second = await say('two');
  expect(second.filter((event) => event.type === 'session_update')).toMatchObject([
    { tools: [{ name: 'shelf_b' }], source: 'host' },
  ]);
  const third = await say('three');
  expect(typesOf(third)).not.toContain('session_update');
  all.push(...second, ...third);
  expect(source.called).toEqual(['shelf_a', 'shelf_b']);
  await host.close();
});

test('a session whose first message is aborted while its tools are awaited ends that run at once', async () => {
  const opens = deferred();
  const source = shelf(['shelf_a'], { opens: opens.promise });
  const { host, model } = hostWith({ a: [{ text: 'later' }] }, { tools: [source.toolset] });
  const session = host.session(agent({ name: 'a', tools: ['shelf_a'] }));
  const message = { kind: 'message' as const, content: 'go' };
  const { stream, controller } = session.stream(message);
  controller.abort('enough');
  expect((await readAll(stream)).at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted' });
  expect(model.requests).toHaveLength(0);
  opens.resolve();
  await until(() => source.log.includes('ready shelf_'));
  const events = await readAll(session.stream(message).stream);
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
  await host.close();
});

test('a notice goes to every run under way, or waits for the next one', async () => {
  const source = shelf(['shelf_a']);
  const script = (_: never, at: number) => {
    if (at === 0) source.notify('under way');
    return { text: 'ok' };
  };
  const { host } = hostWith({ a: script }, { tools: [source.toolset] });
  const using = agent({ name: 'a', tools: ['shelf_a'] });
  const first = await collect(host.run(using, 'go'));
  expect(notices(first)).toEqual([{ code: 'SHELF', severity: 'warning', text: 'under way' }]);
  source.notify('while nobody ran');
  const second = await collect(host.run(using, 'go'));
  expect(notices(second)).toEqual([{ code: 'SHELF', severity: 'warning', text: 'while nobody ran' }]);
  await host.close();
});

test('a notice that comes while a run waits for its tools reaches that run too', async () => {
  const opens = deferred();
  const source = shelf(['shelf_a'], { opens: opens.promise });
  const working = gate('working');
  const { host } = hostWith(
    { busy: [call('working'), { text: 'ok' }], a: [{ text: 'ok' }] },
    { tools: [working.tool, source.toolset] },
  );
  const busy = collect(host.run(agent({ name: 'busy', tools: ['working'] }), 'go'));
  await working.running;
  const waiting = collect(host.run(agent({ name: 'a', tools: ['shelf_a'] }), 'go'));
  await until(() => source.log.includes('open'));
  source.notify('it is slow today');
  opens.resolve();
  expect(notices(await waiting)).toMatchObject([{ text: 'it is slow today' }]);
  working.open('done');
  expect(notices(await busy)).toMatchObject([{ text: 'it is slow today' }]);
  await host.close();
});

test("a tool of the host's own keeps its name: the toolset's is left out, with one notice", async () => {
  const source = shelf(['shelf_a', 'shelf_b']);
  const mine = tool({
    name: 'shelf_a',
    description: 'Mine.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => 'mine',
  });
  const { host } = hostWith(
    { a: [call('shelf_a'), { text: 'ok' }, { text: 'ok' }] },
    { tools: [mine, source.toolset] },
  );
  const using = agent({ name: 'a', tools: ['shelf_*'] });
  source.become('shelf_a', 'shelf_b');
  const events = [...(await collect(host.run(using, 'go')))];
  source.become('shelf_a', 'shelf_b', 'shelf_c');
  expect(source.called).toEqual([]);
  const second = await collect(host.run(using, 'go'));
  expect([...notices(events), ...notices(second)]).toMatchObject([{ code: 'TOOL_NAME_TAKEN' }]);
  await host.close();
});

test('two toolsets whose names could not be told apart are refused', () => {
  const make = (...prefixes: string[]) => shelf([], { prefixes }).toolset;
  expect(() => createHost({ tools: [make('a_'), { ...make('a_b_'), name: 'other' }] })).toThrow(
    '"other" brings tools named a_b_…, "shelf" tools named a_…; rename one',
  );
  expect(() => createHost({ tools: [make('a_'), { ...make('b_'), name: 'other' }] })).not.toThrow();
});
