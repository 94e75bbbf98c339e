import { expect, test, vi } from 'vitest';
import { chatCommand } from '../../src/cli/chat.js';
import type { AgentEvent, SessionProvider } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { tool } from '../../src/define/tool.js';
import { createHost } from '../../src/index.js';
import { type ScriptLine, scriptedModel } from '../../src/models/scripted.js';
import { memoryStore } from '../../src/stores/memory.js';
import { fakeHost } from './fake-host.js';
import { type FakeIo, fakeIo } from './fake-io.js';
import { scriptedPrompter } from './scripted-prompter.js';

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: {} } as const,
  annotations: { readOnly: true },
  execute: () => 'seen',
});
const mark = tool({
  name: 'mark',
  description: 'Marks.',
  parameters: { type: 'object', properties: {} } as const,
  execute: () => 'marked',
});

/** A chat of one agent on a host of its own; `store` outlives it. */
function chatWith(
  script: ScriptLine,
  more: { prompter?: ReturnType<typeof scriptedPrompter>; store?: SessionProvider; tools?: unknown[] } = {},
) {
  const model = scriptedModel(script);
  const store = more.store ?? memoryStore();
  const definition = agent({ name: 'friend', model: 'scripted', tools: more.tools ?? [look, mark] } as never) as never;
  const { parts } = fakeHost(
    { steps: [] },
    {
      definition,
      createHost,
      loadModel: async () => model,
      openStore: () => store,
      ...(more.prompter !== undefined && { prompter: async () => more.prompter as never }),
    },
  );
  const start = (io: FakeIo, options: object = {}) =>
    chatCommand({ file: 'friend.yaml', script: 's.yaml', ...options }, io, parts);
  return { model, store, start };
}

const said = (model: ReturnType<typeof scriptedModel>, call: number) =>
  model.requests[call]?.messages.map(({ content }) =>
    content.map((part) => ('text' in part ? part.text : part.type)).join(''),
  );

async function sessionsOf(store: SessionProvider) {
  const logs: Record<string, AgentEvent[]> = {};
  for (const { id } of await store.list()) {
    logs[id] = [];
    for await (const event of (await store.load(id)).events) logs[id].push(event);
  }
  return logs;
}

test('each line of stdin is a message to the same session; answers are on stdout', async () => {
  const { model, start, store } = chatWith([{ text: 'One.' }, { text: 'Two.' }]);
  const io = fakeIo({ stdin: 'first\n\nsecond' });
  expect(await start(io)).toBe(0);
  expect(io.stdout.text).toBe('One.\nTwo.\n');
  expect(said(model, 1)).toEqual(['first', 'One.', 'second']);
  expect(Object.keys(await sessionsOf(store))).toHaveLength(1);
  expect(io.listening).toBe(0);
});

test('--json puts the events of every run on stdout and nothing else', async () => {
  const { start } = chatWith([{ text: 'One.' }, { text: 'Two.' }]);
  const io = fakeIo({ stdin: 'first\n/plan\nsecond\n' });
  expect(await start(io, { json: true })).toBe(0);
  const events = io.stdout.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AgentEvent);
  expect(events.filter(({ type }) => type === 'stream_end')).toHaveLength(2);
  const seqs = events.map(({ seq }) => seq);
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  expect(io.stderr.text).toBe('troupe: the permission mode is plan\n');
});

test('without a terminal a run that does not complete ends the chat with its exit code', async () => {
  const { model, start } = chatWith([{ text: 'One.' }, { refusal: 'No.' }, { text: 'never' }]);
  expect(await start(fakeIo({ stdin: 'first\nsecond\nthird\n' }))).toBe(4);
  expect(model.requests).toHaveLength(2);
});

test('a line that begins with two slashes is said with one', async () => {
  const { model, start } = chatWith([{ text: 'One.' }]);
  await start(fakeIo({ stdin: '//etc is what?\n' }));
  expect(said(model, 0)).toEqual(['/etc is what?']);
});

test.each([
  ['/nope', 'there is no /nope'],
  ['/mode fast', 'no mode "fast": choose one of default'],
  ['/fork', 'there is no session yet that could be forked'],
  ['/rewind', 'there is no session yet that could be taken back'],
  ['hi\n/rewind 2', 'there is 1 exchange to take back, not 2'],
  ['hi\n/rewind x', '/rewind takes a number of exchanges'],
  ['hi\n/rewind to x', 'a position is the seq of an event, not "x"'],
  ['hi\n/rewind to 999', 'cannot be taken back to 999'],
  ['hi\n/fork 0', 'a position is the seq of an event, not "0"'],
  ['hi\n/model nowhere/x\nho', 'no model'],
])('without a terminal what cannot be done is wrong use: %j', async (stdin, message) => {
  const { start } = chatWith([{ text: 'One.' }]);
  await expect(start(fakeIo({ stdin: `${stdin}\nnever\n` }))).rejects.toThrow(message);
});

test('/plan is a mode for what follows, and once more the one before', async () => {
  const { start, store } = chatWith([{ text: '1' }, { text: '2' }, { text: '3' }]);
  const io = fakeIo({ stdin: '/mode auto_edit\na\n/plan\nb\n/plan\nc\n/mode\n' });
  await start(io);
  const [log = []] = Object.values(await sessionsOf(store));
  const modes = log.flatMap((event) => (event.type === 'initialize' ? [event._meta?.permissionMode] : []));
  expect(modes).toEqual(['auto_edit', 'plan', 'auto_edit']);
  expect(io.stderr.text).toContain('troupe: the permission mode is auto_edit\n');
});

test('/model is the model of what follows', async () => {
  const { start, store } = chatWith([{ text: '1' }, { text: '2' }]);
  const io = fakeIo({ stdin: 'a\n/model scripted/other\n/model\nb\n' });
  await start(io);
  const [log = []] = Object.values(await sessionsOf(store));
  expect(log.flatMap((event) => (event.type === 'initialize' ? [event.model] : []))).toEqual([
    'scripted',
    'scripted/other',
  ]);
  expect(io.stderr.text).toContain('troupe: the model is scripted/other\n');
});

test('/fork goes on in a session of its own; the one before stays as it was', async () => {
  const { model, start, store } = chatWith([{ text: 'One.' }, { text: 'Two.' }]);
  const io = fakeIo({ stdin: 'first\n/fork\nsecond\n' });
  expect(await start(io)).toBe(0);
  const [, fork, source] = /goes on in (\w+), a fork of (\w+) at \d+/.exec(io.stderr.text) ?? [];
  const logs = await sessionsOf(store);
  const users = (id = '') => logs[id]?.filter((event) => event.type === 'message' && event.role === 'user').length;
  expect([users(source), users(fork)]).toEqual([1, 2]);
  expect(said(model, 1)).toEqual(['first', 'One.', 'second']);
});

test('/rewind takes back the last exchange, the last n, or all behind a position', async () => {
  const { model, start } = chatWith(['1', '2', '3', '4', '5', '6'].map((text) => ({ text })));
  const io = fakeIo({ stdin: 'a\nb\n/rewind\nc\nd\n/rewind 2\ne\n/rewind to 1\nf\n' });
  expect(await start(io)).toBe(0);
  expect(
    model.requests.map((_, call) =>
      said(model, call)
        ?.filter((_, at) => at % 2 === 0)
        .join(''),
    ),
  ).toEqual(['a', 'ab', 'ac', 'acd', 'ae', 'f']);
  expect(io.stderr.text).toContain('troupe: the session was taken back to 1\n');
});

test('--session goes on with a stored session; one that is not there is wrong use', async () => {
  const store = memoryStore();
  await chatWith([{ text: 'One.' }], { store }).start(fakeIo({ stdin: 'first\n' }));
  const [id = ''] = Object.keys(await sessionsOf(store));
  const later = chatWith([{ text: 'Two.' }], { store });
  const io = fakeIo({ stdin: 'second\n' });
  expect(await later.start(io, { session: id })).toBe(0);
  // What was answered before is not answered again.
  expect(io.stdout.text).toBe('Two.\n');
  expect(said(later.model, 0)).toEqual(['first', 'One.', 'second']);
  await expect(later.start(fakeIo(), { session: 'nobody' })).rejects.toThrow('nobody');
  await expect(later.start(fakeIo(), { session: id, ephemeral: true })).rejects.toThrow('exclude each other');
});

test('--session takes up a run that was cut off, then the next message', async () => {
  const store = memoryStore();
  await chatWith([{ toolCalls: [{ name: 'look', args: {} }] }, { text: 'One.' }], { store }).start(
    fakeIo({ stdin: 'first\n' }),
  );
  const [[id = '', log = []] = []] = Object.entries(await sessionsOf(store));
  const handle = await store.load(id);
  await handle.truncate?.(log.find(({ type }) => type === 'tool_response')?.seq ?? 0);
  await handle.close();
  const later = chatWith([{ text: 'Again.' }, { text: 'Two.' }], { store });
  const io = fakeIo({ stdin: 'second\n' });
  expect(await later.start(io, { session: id })).toBe(0);
  expect(io.stdout.text).toBe('Again.\nTwo.\n');
});

test('--ephemeral keeps nothing, and has one session all the same', async () => {
  const { model, start, store } = chatWith([{ text: 'One.' }, { text: 'Two.' }]);
  await start(fakeIo({ stdin: 'first\nsecond\n' }), { ephemeral: true });
  expect(said(model, 1)).toEqual(['first', 'One.', 'second']);
  expect(await store.list()).toEqual([]);
});

test('/exit ends the chat, whatever stands behind it', async () => {
  const { model, start } = chatWith([{ text: 'One.' }]);
  expect(await start(fakeIo({ stdin: 'first\n/exit\nsecond\n' }))).toBe(0);
  expect(model.requests).toHaveLength(1);
});

/** Somebody at a terminal. */
function typist(io: FakeIo) {
  return {
    type: (text: string) => void io.stdin.write(text),
    until: (text: string | RegExp) =>
      vi.waitFor(
        () => expect(io.stdout.text).toMatch(text instanceof RegExp ? text : new RegExp(text.replace(/[?]/g, '\\?'))),
        {
          timeout: 10_000,
          interval: 5,
        },
      ),
  };
}

/** A chat in a terminal that has said how it is used; `code` is what it ends with. */
async function inTerminal(start: ReturnType<typeof chatWith>['start'], options: object = {}) {
  const io = fakeIo({ terminal: true, typing: true, env: { NO_COLOR: '1', TERM: 'xterm' } });
  const { type, until } = typist(io);
  const code = start(io, options);
  await until('/help says');
  return { io, type, until, code };
}

test('in a terminal the answer streams, and what is asked first is asked between', async () => {
  const prompter = scriptedPrompter(['Yes, once']);
  const { start } = chatWith([{ toolCalls: [{ name: 'mark', args: {} }] }, { text: ['Mar', 'ked.'] }], { prompter });
  const { io, type, until, code } = await inTerminal(start);
  type('mark it\r');
  await until(/Marked\.\n/);
  type('/exit\r');
  expect(await code).toBe(0);
  expect(prompter.asked).toEqual(['Allow it?']);
  expect(io.stdout.text).toMatch(/troupe chat friend\.yaml --session \w+ goes on with this\n/);
  expect(io.listening).toBe(0);
});

/** What is awaited until it is opened. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

test('what is typed while a run is on steers it', async () => {
  const { opened, open } = gate();
  const wait = tool({
    name: 'wait',
    description: 'Waits.',
    annotations: { readOnly: true },
    parameters: { type: 'object' } as const,
    async execute() {
      await opened;
      return 'waited';
    },
  });
  const script = [{ toolCalls: [{ name: 'wait', args: {} }] }, { text: 'Short.' }];
  const { model, start } = chatWith(script, { tools: [wait] });
  const { type, until, code } = await inTerminal(start);
  type('go\r');
  await until('calls friend.wait');
  type('/fork\r');
  await until('/fork waits for the end of the run');
  type('/mode plan\r');
  await until('the permission mode is plan');
  type('be brief\r');
  await until('› be brief\n');
  open();
  await until(/Short\.\n/);
  type('/exit\r');
  expect(await code).toBe(0);
  expect(said(model, 1)).toEqual(['go', 'function_call', 'function_response', 'be brief']);
});

test('words that come too late for a run are the next message', async () => {
  const { opened, open } = gate();
  const { model, start } = chatWith(async (_request, call) => {
    if (call === 0) await opened;
    return { text: call === 0 ? 'One.' : 'Two.' };
  });
  const { type, until, code } = await inTerminal(start);
  type('first\r');
  await until('running');
  type('second\r');
  await until('› second\n');
  open();
  await until(/Two\.\n/);
  type('/exit\r');
  expect(await code).toBe(0);
  expect(said(model, 1)).toEqual(['first', 'One.', 'second']);
});

test('Ctrl-C stops the run and the chat goes on; at an empty line it ends the chat when it comes twice', async () => {
  const { start } = chatWith([{ text: 'never', delayMs: 600_000 }, { text: 'Two.' }]);
  const { io, type, until, code } = await inTerminal(start);
  type('first\r');
  await until('running');
  type('\u0003');
  await until('the run was aborted');
  type('second\r');
  await until(/Two\.\n/);
  type('half\u0003\u0003');
  await until('Ctrl-C once more ends the chat');
  type('\u0003');
  expect(await code).toBe(130);
  expect(io.exits).toEqual([]);
});

test('in a terminal /rewind asks first, and what goes wrong is said', async () => {
  const { model, start } = chatWith([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }]);
  const { type, until, code } = await inTerminal(start);
  type('/fork\r');
  await until('there is no session yet that could be forked');
  type('first\r');
  await until(/One\.\n/);
  for (const answer of ['n', 'y']) {
    type('/rewind\r');
    await until(new RegExp(`(take back “first”[^]*){${answer === 'n' ? 1 : 2}}`));
    type(`${answer}\r`);
    if (answer === 'y') await until('was taken back to 1');
    type('next\r');
    await until(answer === 'n' ? /Two\.\n/ : /Three\.\n/);
    if (answer === 'n') {
      type('/rewind 1\r');
      await until('take back “next”');
      type('yes\r');
      await until('was taken back to');
    }
  }
  type('\u0004');
  expect(await code).toBe(0);
  expect(said(model, 1)).toEqual(['first', 'One.', 'next']);
  expect(said(model, 2)).toEqual(['next']);
});

test('what a model says cannot steer the terminal', async () => {
  const { start } = chatWith([{ text: ['a\u001b[2J', 'b\n', '\u202ec'] }]);
  const { io, type, until, code } = await inTerminal(start);
  type('go\r');
  await until(/<U\+202E>c\n/);
  type('/exit\r');
  await code;
  expect(io.stdout.text).toContain('a<U+001B>[2Jb\n');
});

test('in a terminal --session says where it goes on; SIGTERM ends the chat with its run', async () => {
  const store = memoryStore();
  await chatWith([{ text: 'One.' }], { store }).start(fakeIo({ stdin: 'first\n' }));
  const [id = ''] = Object.keys(await sessionsOf(store));
  const { start } = chatWith([{ text: 'never', delayMs: 600_000 }], { store });
  const { io, type, until, code } = await inTerminal(start, { session: id });
  await until(`goes on with ${id}: 1 exchange, the last “first”`);
  expect(io.stdout.text).not.toContain('One.');
  type('second\r');
  await until('running');
  io.raise('SIGTERM');
  expect(await code).toBe(130);
  expect(io.listening).toBe(0);
});

test('a line that is half typed when a question comes is there again behind it', async () => {
  const { opened, open } = gate();
  const { model, start } = chatWith(
    async (_request, call) => {
      if (call > 0) return { text: call === 1 ? 'Marked.' : 'Rested.' };
      await opened;
      return { toolCalls: [{ name: 'mark', args: {} }] };
    },
    { prompter: scriptedPrompter(['Yes, once']) },
  );
  const { type, until, code } = await inTerminal(start);
  type('mark it\r');
  await until('running');
  type('the rest');
  await until('the rest');
  open();
  await until(/Marked\.\n/);
  type(' of it\r');
  await until(/Rested\.\n/);
  type('/exit\r');
  expect(await code).toBe(0);
  expect(said(model, 2)?.at(-1)).toBe('the rest of it');
});
