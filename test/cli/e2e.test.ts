import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { validateLog } from '../../src/kernel/log-validator.js';
import { PROCESS_LIMIT_MS } from '../support/process-limit.js';
import { buildTroupe, startTroupe, troupe } from './troupe-process.js';

let cwd = '';
let removeBuild = () => {};
beforeAll(async () => {
  removeBuild = buildTroupe();
  cwd = await mkdtemp(join(tmpdir(), 'troupe-cli-'));
  expect(await troupe(['init'], { cwd })).toMatchObject({ code: 0, err: '' });
  await writeFile(
    join(cwd, 'solo.agent.md'),
    '---\nname: solo\ndescription: Alone.\nmodel: scripted\nmax_turns: 2\ntools: [list_directory, ask_user]\n---\nGo.\n',
  );
  await script('answer', { text: ['one\n', 'two\n', 'three'] });
  await script(
    'turns',
    { toolCalls: [{ name: 'list_directory', args: {} }] },
    { toolCalls: [{ name: 'list_directory', args: {} }] },
  );
  await script('refusal', { refusal: 'I will not.' });
  await script('failure', { error: { code: 'INVALID_ARGUMENT', message: 'no such model' } });
  await script('asks', { toolCalls: [{ name: 'ask_user', args: { question: 'Which one?' } }] }, { text: 'never mind' });
  await script('slow', { text: 'too late', delayMs: 60_000 });
  await writeFile(
    join(cwd, 'writer.ts'),
    `import { agent, tool } from 'troupe';
import { writeFileSync } from 'node:fs';
const mark = tool({
  name: 'mark', description: 'Leaves a mark.', parameters: { type: 'object', properties: { file: { type: 'string' } } },
  execute: ({ file }: { file: string }) => { writeFileSync(file, 'marked'); return 'marked'; },
});
export default agent({ name: 'writer', description: 'Marks.', model: 'scripted', tools: [mark] });
`,
  );
  await writeFile(
    join(cwd, 'stuck.ts'),
    `import { agent } from 'troupe';
const never = () => { setInterval(() => {}, 1000); console.error('stuck now'); return new Promise(() => {}); };
const model = { generate: never, async *generateStream() { await never(); } };
export default agent({ name: 'stuck', description: 'Hears no signal.', model });
`,
  );
  for (const file of ['denied', 'yes', 'no'])
    await script(`mark-${file}`, { toolCalls: [{ name: 'mark', args: { file: `${file}.txt` } }] }, { text: 'done' });
});
afterAll(async () => {
  removeBuild();
  await rm(cwd, { recursive: true, force: true });
});

const script = (name: string, ...entries: object[]) => writeFile(join(cwd, `${name}.json`), JSON.stringify(entries));
const solo = (name: string, ...more: string[]) =>
  troupe(['run', 'solo.agent.md', 'go', '--script', `${name}.json`, ...more], { cwd });
const eventsOf = (out: string) =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AgentEvent);

test('a new project runs offline: result on stdout, what happened on stderr', async () => {
  const { code, out, err } = await troupe(['run', 'team.yaml', 'What is this project?'], { cwd });
  expect(code).toBe(0);
  expect(out).toMatch(/^This project is a team of agents.*\n.*Open question: which model should it use next\?\n$/);
  expect(err).toContain('[gather_1.researcher_1] calls list_directory {"path":"."}\n');
  expect(err).toContain('[report] completed\n');
});

test('--json is the whole valid event stream and nothing else; the prompt comes from stdin', async () => {
  const { code, out, err } = await troupe(['run', 'team.yaml', '-', '--json'], { cwd, stdin: 'from a pipe\n' });
  expect([code, err]).toEqual([0, '']);
  const events = eventsOf(out);
  expect(validateLog(events)).toEqual([]);
  expect(events[0]).toMatchObject({ type: 'initialize', agent: { name: 'report' } });
  expect(events[1]).toMatchObject({ type: 'message', role: 'user', content: [{ type: 'text', text: 'from a pipe' }] });
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
});

test('a reader that takes one line and leaves: no stack, the run completes, the exit code is its own (B181)', async () => {
  for (const args of [['--json'], []]) {
    const run = startTroupe(['run', 'team.yaml', 'go', ...args], { cwd });
    run.child.stdout?.once('data', () => run.child.stdout?.destroy());
    run.child.stderr?.once('data', () => run.child.stderr?.destroy());
    expect(await run.ended).toBe(0);
    expect(run.stderr()).not.toMatch(/EPIPE|Error|\n {4}at /);
  }
});

test.each([
  ['answer', 0, 'one\ntwo\nthree\n', /\[solo\] completed/],
  ['turns', 3, '', /troupe: the run ended with max_turns \(limit maxTurns, used 2\)/],
  ['refusal', 4, /.*/, /troupe: the model refused/],
  ['failure', 1, '', /troupe: the run failed with INVALID_ARGUMENT: .*no such model/],
])('a run that ends as %s: exit code %i', async (name, code, out, err) => {
  const ended = await solo(name);
  expect(ended.code, ended.err).toBe(code);
  if (typeof out === 'string') expect(ended.out).toBe(out);
  expect(ended.err).toMatch(err);
});

test('without a terminal a question is answered by nobody: the agent is told, and the exit code is that of the run (B125)', async () => {
  const { code, out } = await solo('asks', '--json');
  expect(code).toBe(0);
  const response = eventsOf(out).find((event) => event.type === 'tool_response');
  expect(response).toMatchObject({ name: 'ask_user', isError: true });
  expect(JSON.stringify(response)).toContain('nobody to ask');
});

test('without a terminal a tool that needs approval is denied and does not run; --yes lets it, --no declines it (B125)', async () => {
  const mark = (name: string, ...more: string[]) =>
    troupe(['run', 'writer.ts', 'go', '--json', '--script', `mark-${name}.json`, ...more], { cwd });
  const responseOf = (out: string) => eventsOf(out).find((event) => event.type === 'tool_response');
  const denied = await mark('denied');
  expect(denied.code, denied.err).toBe(0);
  expect(responseOf(denied.out)).toMatchObject({ isError: true, errorType: 'policy_denied' });
  const yes = await mark('yes', '--yes');
  expect(yes.code).toBe(0);
  expect(responseOf(yes.out)).not.toMatchObject({ isError: true });
  const no = await mark('no', '--no');
  expect(no.code).toBe(0);
  expect(responseOf(no.out)).toMatchObject({ isError: true, errorType: 'declined' });
  expect(['denied', 'yes', 'no'].filter((name) => existsSync(join(cwd, `${name}.txt`)))).toEqual(['yes']);
});

test('run --policy lets what the file allows happen, and nothing else; a file with a fault stops it', async () => {
  await writeFile(
    join(cwd, 'editor.agent.md'),
    '---\nname: editor\ndescription: Edits.\nmodel: scripted\ntools: [write_file, run_shell_command]\n---\nGo.\n',
  );
  await script(
    'edits',
    {
      toolCalls: [
        { name: 'write_file', args: { path: 'docs/a.md', content: 'a' } },
        { name: 'write_file', args: { path: 'b.md', content: 'b' } },
        { name: 'run_shell_command', args: { command: 'echo hi' } },
        { name: 'run_shell_command', args: { command: 'echo hi; touch c' } },
      ],
    },
    { text: 'done' },
  );
  await writeFile(
    join(cwd, 'rules.toml'),
    `[[rules]]
toolName = "write_file"
decision = "allow"
argsPattern = '"path":"docs/'
[[rules]]
toolName = "run_shell_command"
decision = "allow"
commandPrefix = "echo"
`,
  );
  const run = (...more: string[]) =>
    troupe(['run', 'editor.agent.md', 'go', '--script', 'edits.json', '--json', ...more], { cwd });
  const ended = await run('--policy', 'rules.toml');
  expect([ended.code, ended.err]).toEqual([0, '']);
  const outcomes = eventsOf(ended.out).flatMap((event) =>
    event.type === 'tool_response' ? [`${event.name} ${event.errorType ?? 'ran'}`] : [],
  );
  expect(outcomes.sort()).toEqual([
    'run_shell_command policy_denied',
    'run_shell_command ran',
    'write_file policy_denied',
    'write_file ran',
  ]);
  expect(['docs/a.md', 'b.md', 'c'].filter((name) => existsSync(join(cwd, name)))).toEqual(['docs/a.md']);
  await writeFile(join(cwd, 'bad.toml'), '[[rules]]\ntoolName = "write_file"\ndecision = "alow"\n');
  const bad = await run('--policy', 'rules.toml', '--policy', 'bad.toml');
  expect([bad.code, bad.out]).toEqual([2, '']);
  expect(bad.err).toContain('bad.toml:3:rules[0].decision');
});

test('SIGINT aborts the run: a whole valid stream, exit code 130', async () => {
  const run = startTroupe(['run', 'solo.agent.md', 'go', '--script', 'slow.json', '--json'], { cwd });
  await run.until(/"role":"user"/);
  run.child.kill('SIGINT');
  expect(await run.ended).toBe(130);
  const events = eventsOf(run.stdout());
  expect(validateLog(events)).toEqual([]);
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted' });
});

test('a second SIGINT ends the process at once, whatever a model does', async () => {
  const run = startTroupe(['run', 'stuck.ts', 'go'], { cwd });
  await run.until(/stuck now/);
  run.child.kill('SIGINT');
  await run.until(/once more ends it at once/);
  run.child.kill('SIGINT');
  expect(await run.ended).toBe(130);
  expect(run.stderr()).not.toContain('the run was aborted');
});

test('code of a team that throws where nobody listens ends in one sentence', async () => {
  await writeFile(
    join(cwd, 'wild.ts'),
    `import { agent } from 'troupe';
setTimeout(() => { throw new Error('out of nowhere'); }, 0);
const never = () => new Promise(() => {});
export default agent({ name: 'wild', description: 'Throws.', model: { generate: never, async *generateStream() { await never(); } } });
`,
  );
  const { code, err } = await troupe(['run', 'wild.ts', 'go'], { cwd });
  expect(code).toBe(1);
  expect(err).toContain('troupe: out of nowhere (DEBUG=troupe shows where it came from)\n');
  expect(err).not.toContain('    at ');
});

test('mistakes in files and options are one sentence with their place, and exit code 2', async () => {
  await writeFile(
    join(cwd, 'broken.yaml'),
    'name: broken\npattern: sequential\nchildren: [./solo.agent.md]\ncolour: red\nextra: 1\n',
  );
  const broken = await troupe(['run', 'broken.yaml', 'go'], { cwd });
  expect([broken.code, broken.out]).toEqual([2, '']);
  expect(broken.err).toMatch(/^troupe: .*broken\.yaml:4:colour/s);
  const nobody = await troupe(['run', 'solo.agent.md', 'go'], { cwd });
  expect([nobody.code, nobody.out]).toEqual([2, '']);
  expect(nobody.err).toMatch(/^troupe: solo\.model: no model "scripted".*; --script <file> answers from a script/);
  expect(nobody.err).not.toContain('    at ');
  expect(await troupe(['run', '.', 'go'], { cwd })).toEqual({
    code: 2,
    out: '',
    err: 'troupe: .: is a folder; name a file\n',
  });
});

test('a team of real models without keys says what is missing, and that its script can play them', async () => {
  await writeFile(
    join(cwd, 'real.agent.md'),
    '---\nname: real\ndescription: x\nmodel: gemini/flash\nscript: ./answer.json\n---\nGo.\n',
  );
  const without = await troupe(['run', 'real.agent.md', 'go'], { cwd });
  expect(without.code).toBe(2);
  expect(without.err).toMatch(/^troupe: real\.model: .*GEMINI_API_KEY.*; --model scripted answers from the script/);
  expect(await troupe(['run', 'real.agent.md', 'go', '--model', 'scripted'], { cwd })).toMatchObject({
    code: 0,
    out: 'one\ntwo\nthree\n',
  });
});

test('a models file prices a team: for the listing, the worst case, the budget and the cost', async () => {
  await writeFile(
    join(cwd, 'models.yaml'),
    'aliases: { fast: openai/small }\nprices:\n  scripted: { input: 1, output: 10, maxInputTokens: 1000, maxOutputTokens: 100 }\n',
  );
  await script('priced', { text: 'done', usage: { inputTokens: 100, outputTokens: 20 } });
  const listed = await troupe(['models', 'solo.agent.md', '--models', 'models.yaml', '--json'], { cwd });
  expect(listed).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(listed.out).models).toMatchObject([
    { name: 'scripted', price: { input: 1, output: 10 } },
    { name: 'fast', model: 'openai/small', health: { state: 'healthy' } },
  ]);
  const plain = await troupe(['models', '--models', 'models.yaml'], { cwd });
  expect(plain.out).toMatch(/fast → openai\/small {2}no price/);
  expect((await troupe(['models', 'stuck.ts'], { cwd })).out).toBe(
    '"stuck" names no model: --models <file> reads others\n',
  );
  expect((await troupe(['models'], { cwd })).out).toBe('no models are named: give a team file, or --models <file>\n');

  const checked = await troupe(['check', 'solo.agent.md', '--models', 'models.yaml', '--json'], { cwd });
  // Two turns of 1,000 tokens in and 100 out.
  expect(JSON.parse(checked.out).worstCase).toMatchObject({ modelCalls: 2, usd: 0.004 });
  expect(JSON.parse((await troupe(['check', 'solo.agent.md', '--json'], { cwd })).out).worstCase).not.toHaveProperty(
    'usd',
  );

  const unpriced = await solo('priced', '--max-budget-usd', '1');
  expect(unpriced.code).toBe(2);
  expect(unpriced.err).toMatch(/maxBudgetUsd cannot be kept with the model "scripted".*--models <file>/);
  const run = await solo('priced', '--max-budget-usd', '1', '--models', 'models.yaml', '--json');
  expect(run.code).toBe(0);
  expect(eventsOf(run.out).at(-1)).toMatchObject({ type: 'stream_end', data: { cost: { usd: 0.0003 } } });
  const tight = await solo('priced', '--max-budget-usd', '0.0001', '--models', 'models.yaml');
  expect(tight.code).toBe(3);
});

test.each([
  ['aliasses: {}\n', 'no key "aliasses" (did you mean "aliases"?); keys: aliases, prices, fallbacks'],
  ['- a\n', 'it must be an object with aliases, prices, fallbacks'],
  ['prices: { a: { input: 1 } }\n', 'prices.a: output is missing'],
  ['aliases: { a: { extends: a } }\n', 'goes in a circle: a → a'],
  ['prices: {\n', 'models-bad.yaml: '],
])('a models file with a fault is one sentence and exit code 2: %s', async (text, sentence) => {
  await writeFile(join(cwd, 'models-bad.yaml'), text);
  for (const command of [['models'], ['check', 'solo.agent.md'], ['run', 'solo.agent.md', 'go']]) {
    const { code, out, err } = await troupe([...command, '--models', 'models-bad.yaml'], { cwd });
    expect([command, code]).toEqual([command, 2]);
    // To say what is wrong is what `check` is for.
    expect(command[0] === 'check' ? out + err : err).toContain(sentence);
  }
});

test('check and graph read the same files', async () => {
  const check = await troupe(['check', 'team.yaml', '--json'], { cwd });
  expect([check.code, JSON.parse(check.out)]).toEqual([
    0,
    { problems: [], worstCase: { modelCalls: 20, assumptions: [] } },
  ]);
  const faults = await troupe(['check', 'broken.yaml', '--json'], { cwd });
  expect(faults.code).toBe(2);
  expect(JSON.parse(faults.out).problems[0]).toMatchObject({ path: 'broken.yaml:4:colour' });
  const graph = await troupe(['graph', 'team.yaml'], { cwd });
  expect([graph.code, graph.err]).toEqual([0, '']);
  expect(graph.out).toMatch(/^flowchart TB\n/);
});

test('what a folder brings runs once it is trusted, and not before', async () => {
  const home = await mkdtemp(join(tmpdir(), 'troupe-home-'));
  const work = await mkdtemp(join(tmpdir(), 'troupe-work-'));
  const at = { cwd: work, env: { HOME: home } };
  try {
    await mkdir(join(work, '.troupe', 'agents'), { recursive: true });
    await writeFile(
      join(work, '.troupe', 'agents', 'lister.agent.md'),
      '---\nname: lister\ndescription: Lists.\nmodel: scripted\ntools: [list_directory]\n---\nGo.\n',
    );
    await writeFile(
      join(work, '.troupe', 'hooks.yaml'),
      'hooks:\n  - point: before_tool\n    command: echo no listing here >&2; exit 2\n',
    );
    await writeFile(
      join(work, 'script.json'),
      JSON.stringify([{ toolCalls: [{ name: 'list_directory', args: {} }] }, { text: 'done' }]),
    );
    const run = (file: string, ...more: string[]) =>
      troupe(['run', file, 'go', '--json', '--script', 'script.json', ...more], at);
    const responseIn = ({ out }: { out: string }) => eventsOf(out).find((event) => event.type === 'tool_response');

    const unknown = await run('lister');
    expect([unknown.code, unknown.out]).toEqual([2, '']);
    expect(unknown.err).toContain('1 agent, 1 hook left out; see troupe trust, or run with --trust');
    const file = join('.troupe', 'agents', 'lister.agent.md');
    // Named on the command line it runs; the hook does not.
    expect(responseIn(await run(file))).not.toMatchObject({ isError: true });

    const once = await run('lister', '--trust');
    expect([once.code, once.err]).toEqual([0, '']);
    expect(responseIn(once)).toMatchObject({
      errorType: 'policy_denied',
      llmContent: [{ text: 'denied by a hook: no listing here' }],
    });

    expect((await troupe(['trust', '--yes'], at)).out).toContain(': trusted; it brings 2 things');
    expect(responseIn(await run('lister'))).toMatchObject({ errorType: 'policy_denied' });
    const list = await troupe(['hooks', 'list', '--json'], at);
    expect(JSON.parse(list.out).hooks).toMatchObject([{ point: 'before_tool', active: true }]);
  } finally {
    await rm(home, { recursive: true, force: true });
    await rm(work, { recursive: true, force: true });
  }
});

test('the policy and the hooks in the home of the user count in every folder', async () => {
  const home = await mkdtemp(join(tmpdir(), 'troupe-home-'));
  const work = await mkdtemp(join(tmpdir(), 'troupe-work-'));
  const at = { cwd: work, env: { HOME: home } };
  try {
    await mkdir(join(home, '.troupe'), { recursive: true });
    await writeFile(
      join(work, 'lister.agent.md'),
      '---\nname: lister\ndescription: Lists.\nmodel: scripted\ntools: [list_directory]\n---\nGo.\n',
    );
    await writeFile(
      join(work, 'script.json'),
      JSON.stringify([{ toolCalls: [{ name: 'list_directory', args: {} }] }, { text: 'done' }]),
    );
    const run = async () => {
      const { out } = await troupe(['run', 'lister.agent.md', 'go', '--json', '--script', 'script.json'], at);
      return eventsOf(out).find((event) => event.type === 'tool_response');
    };
    expect(await run()).not.toMatchObject({ isError: true });

    const hooks = join(home, '.troupe', 'hooks.yaml');
    await writeFile(hooks, 'hooks:\n  - point: before_tool\n    command: echo not at home >&2; exit 2\n');
    expect(await run()).toMatchObject({ llmContent: [{ text: 'denied by a hook: not at home' }] });
    await rm(hooks);

    const policy = join(home, '.troupe', 'policy.toml');
    await writeFile(policy, '[[rules]]\ntoolName = "list_directory"\ndecision = "deny"\ndenyMessage = "no lists"\n');
    expect(await run()).toMatchObject({ errorType: 'policy_denied' });
  } finally {
    await rm(home, { recursive: true, force: true });
    await rm(work, { recursive: true, force: true });
  }
}, 60_000);

test('a run that was killed is resumed from its log, forked and taken back', async () => {
  const killed = startTroupe(['run', 'solo.agent.md', 'go', '--script', 'slow.json', '--store', 'kept'], { cwd });
  const kept = join(cwd, 'kept', 'sessions');
  const id = await vi.waitFor(
    async () => {
      const [name = ''] = await readdir(kept);
      expect(await readFile(join(kept, name, 'log.jsonl'), 'utf8')).toContain('"type":"message"');
      return name;
    },
    { timeout: PROCESS_LIMIT_MS / 2 },
  );
  expect((await troupe(['sessions', 'delete', id, '--store', 'kept'], { cwd })).err).toContain(`${killed.child.pid}`);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const sessions = (...args: string[]) => troupe(['sessions', ...args, '--store', 'kept'], { cwd });
  // The file is known from the log.
  const resumed = await sessions('resume', id, '--script', 'answer.json', '--json');
  expect([resumed.code, resumed.err]).toEqual([0, '']);
  expect(eventsOf(resumed.out).at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
  const shown = JSON.parse((await sessions('show', id, '--json')).out) as { lastSeq: number; events: AgentEvent[] };
  expect(validateLog(shown.events)).toEqual([]);
  const forked = JSON.parse((await sessions('fork', id, '--json')).out) as { sessionId: string; at: number };
  expect(forked.at).toBe(shown.lastSeq);
  const first = shown.events.find(({ type }) => type === 'message')?.seq;
  expect((await sessions('rewind', id, '--to', String(first))).out).toBe(`${id} was taken back to ${first}\n`);
  const listed = JSON.parse((await sessions('list', '--json')).out) as { id: string; eventCount: number }[];
  const counts = Object.fromEntries(listed.map((one) => [one.id, one.eventCount]));
  expect(counts[forked.sessionId]).toBe(shown.events.length);
  expect(counts[id]).toBeLessThan(shown.events.length);
  for (const args of [
    ['resume', 'nobody'],
    ['fork', id, '--at', 'x'],
    ['rewind', id, '--to', '0'],
    ['rewind', id, '--to', '999999'],
  ]) {
    const refused = await sessions(...args);
    expect([refused.code, refused.out]).toEqual([2, '']);
    expect(refused.err).toMatch(/^troupe: .*\n$/);
  }
});

test('files that a run has edited are put back by a rewind that is told to', async () => {
  const work = await mkdtemp(join(tmpdir(), 'troupe-work-'));
  const at = { cwd: work };
  const text = () => readFile(join(work, 'notes.txt'), 'utf8');
  try {
    await writeFile(
      join(work, 'writer.agent.md'),
      '---\nname: writer\ndescription: Writes.\nmodel: scripted\ntools: [write_file]\n---\nGo.\n',
    );
    await writeFile(join(work, 'notes.txt'), 'first');
    const write = (path: string, content: string) => ({ toolCalls: [{ name: 'write_file', args: { path, content } }] });
    await writeFile(
      join(work, 'script.json'),
      JSON.stringify([write('notes.txt', 'second'), write('made.txt', 'new'), { text: 'done' }]),
    );
    const args = ['run', 'writer.agent.md', 'go', '--script', 'script.json', '--mode', 'autonomous', '--json'];
    const ran = await troupe([...args, '--store', 'kept'], at);
    expect([ran.code, ran.err, await text()]).toEqual([0, '', 'second']);
    const [id = ''] = await readdir(join(work, 'kept', 'sessions'));
    const to = eventsOf(ran.out).find(({ type }) => type === 'message')?.seq;
    const rewind = (...more: string[]) =>
      troupe(['sessions', 'rewind', id, '--to', String(to), '--store', 'kept', ...more], at);
    const { sessionId } = JSON.parse((await troupe(['sessions', 'fork', id, '--store', 'kept', '--json'], at)).out);

    const back = await rewind('--restore-files', '--json');
    expect([back.code, JSON.parse(back.out)]).toEqual([
      0,
      { id, to, files: ['notes.txt', 'made.txt'], restored: ['notes.txt', 'made.txt'], left: [] },
    ]);
    expect(await text()).toBe('first');
    expect(await readdir(work)).not.toContain('made.txt');

    await writeFile(join(work, 'notes.txt'), 'of another');
    const fork = ['sessions', 'rewind', sessionId as string, '--to', String(to), '--store', 'kept'];
    const left = await troupe([...fork, '--restore-files', work], at);
    expect(left.code).toBe(0);
    expect(left.out).toContain('left as they are: notes.txt (');
    expect(await text()).toBe('of another');
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}, 60_000);

test('a chat of many lines is one session, and another process goes on with it', async () => {
  await script('chat', { text: 'One.' }, { text: 'Two.' }, { text: 'Three.' });
  const chat = (stdin: string, ...more: string[]) =>
    troupe(['chat', 'solo.agent.md', '--script', 'chat.json', '--store', 'chats', ...more], { cwd, stdin });
  const first = await chat('hello\n/plan\nand then\n/rewind\n');
  expect([first.code, first.out]).toEqual([0, 'One.\nTwo.\n']);
  expect(first.err).toContain('troupe: the session was taken back to ');
  const [id = ''] = await readdir(join(cwd, 'chats', 'sessions'));
  const second = await chat('again\n/fork\nonce more\n', '--session', id, '--json');
  expect(second.code).toBe(0);
  const events = eventsOf(second.out);
  expect(events.filter(({ type }) => type === 'stream_end')).toHaveLength(2);
  expect(second.err).toContain(`, a fork of ${id} at `);
  for (const session of await readdir(join(cwd, 'chats', 'sessions'))) {
    const shown = await troupe(['sessions', 'show', session, '--store', 'chats', '--json'], { cwd });
    expect(validateLog((JSON.parse(shown.out) as { events: AgentEvent[] }).events)).toEqual([]);
  }
});
