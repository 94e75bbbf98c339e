import { expect, test } from 'vitest';
import type { Prompter } from '../../src/cli/question-form.js';
import { runCommand } from '../../src/cli/run.js';
import { agent } from '../../src/define/agent.js';
import { TroupeError } from '../../src/kernel/errors.js';
import { asks, calls, confirms, ends, initialize, returns, says } from './event-list.js';
import { fakeHost } from './fake-host.js';
import { fakeIo } from './fake-io.js';
import { scriptedPrompter } from './scripted-prompter.js';

const steps = [initialize('solo'), says('the answer'), ends('completed')];

test('the result goes to stdout, progress to stderr', async () => {
  const io = fakeIo();
  const { parts, log } = fakeHost({ steps });
  expect(await runCommand({ file: 'a.yaml', prompt: 'go' }, io, parts)).toBe(0);
  expect(io.stdout.text).toBe('the answer\n');
  expect(io.stderr.text).toContain('completed');
  expect(log).toEqual(['drained', 'closed']);
});

test('--json puts the events on stdout, one per line, and nothing else anywhere', async () => {
  const io = fakeIo();
  const { parts } = fakeHost({ steps });
  await runCommand({ file: 'a.yaml', prompt: 'go', json: true }, io, parts);
  const lines = io.stdout.text.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).type)).toEqual(['initialize', 'message', 'stream_end']);
  expect(io.stderr.text).toBe('');
});

test.each([
  ['completed', 0],
  ['failed', 1],
  ['max_turns', 3],
  ['max_budget', 3],
  ['max_time', 3],
  ['refusal', 4],
  ['aborted', 130],
  ['something_else', 1],
])('a run that ends with %s exits with %i', async (reason, code) => {
  const io = fakeIo();
  const { parts } = fakeHost({ steps, result: { reason, text: 'so far' } });
  expect(await runCommand({ file: 'a.yaml', prompt: 'go' }, io, parts)).toBe(code);
  // What there is of a result is not thrown away.
  expect(io.stdout.text).toBe('so far\n');
});

test('why a run did not complete is one sentence', async () => {
  const io = fakeIo();
  const result = { reason: 'failed', text: '', data: { code: 'UNAVAILABLE', message: 'the model is down' } };
  await runCommand({ file: 'a.yaml', prompt: 'go' }, io, fakeHost({ steps, result }).parts);
  expect(io.stderr.text).toContain('troupe: the run failed with UNAVAILABLE: the model is down\n');
  const limited = fakeIo();
  const limit = { reason: 'max_turns', text: '', data: { limit: 'maxTurns', used: 8 } };
  await runCommand({ file: 'a.yaml', prompt: 'go' }, limited, fakeHost({ steps, result: limit }).parts);
  expect(limited.stderr.text).toContain('troupe: the run ended with max_turns (limit maxTurns, used 8)\n');
});

test.each([
  ['-', 'from stdin\n'],
  [undefined, 'from stdin\r\n'],
])('the prompt %s is read from stdin', async (prompt, stdin) => {
  const { parts, runs } = fakeHost({ steps });
  await runCommand({ file: 'a.yaml', prompt }, fakeIo({ stdin }), parts);
  expect(runs[0]?.input).toBe('from stdin');
});

test('stdin is left alone when the prompt is given', async () => {
  const io = fakeIo({ stdin: 'not this' });
  const { parts, runs } = fakeHost({ steps });
  await runCommand({ file: 'a.yaml', prompt: 'this' }, io, parts);
  expect(runs[0]?.input).toBe('this');
  expect(io.stdin.readable).toBe(true);
});

test.each([
  [{ prompt: undefined }, fakeIo({ terminal: true }), 'no prompt'],
  [{ prompt: '-' }, fakeIo({ stdin: ' \n' }), 'the prompt is empty'],
  [{ prompt: 'go', yes: true, no: true }, fakeIo(), '--yes and --no exclude each other'],
  [{ prompt: 'go', mode: 'fast' }, fakeIo(), 'no mode "fast"'],
  [{ prompt: 'go', maxBudgetUsd: 'lots' }, fakeIo(), '--max-budget-usd takes an amount above 0'],
  [{ prompt: 'go', maxBudgetUsd: '0' }, fakeIo(), '--max-budget-usd takes an amount above 0'],
])('bad use is refused before anything runs: %j', async (command, io, message) => {
  const { parts, runs } = fakeHost({ steps });
  await expect(runCommand({ file: 'a.yaml', ...command }, io, parts)).rejects.toThrow(message);
  expect(runs).toEqual([]);
  expect(io.listening).toBe(0);
});

test('data goes in as data where the agent takes more than a prompt', async () => {
  const inputSchema = { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] };
  const definition = agent({ name: 'solo', description: '', inputSchema }) as never;
  const withData = fakeHost({ steps }, { definition });
  await runCommand({ file: 'a.yaml', prompt: '{"topic":"tea"}' }, fakeIo(), withData.parts);
  expect(withData.runs[0]?.input).toEqual({ topic: 'tea' });
  const plain = fakeHost({ steps });
  await runCommand({ file: 'a.yaml', prompt: '{"topic":"tea"}' }, fakeIo(), plain.parts);
  expect(plain.runs[0]?.input).toBe('{"topic":"tea"}');
});

test('the options of the command line reach the run', async () => {
  const { parts, runs } = fakeHost({ steps });
  await runCommand(
    { file: 'a.yaml', prompt: 'go', model: 'gemini/x', mode: 'plan', maxBudgetUsd: '0.5' },
    fakeIo(),
    parts,
  );
  expect(runs[0]?.options).toEqual({ model: 'gemini/x', permissionMode: 'plan', maxBudgetUsd: 0.5 });
});

test('what a models file says goes to the host', async () => {
  const settings = { aliases: { fast: 'gemini/x' }, prices: { 'gemini/x': { input: 1, output: 2 } } };
  const asked: string[] = [];
  const loadModels = async (path: string) => {
    asked.push(path);
    return settings;
  };
  const { parts, hostOptions } = fakeHost({ steps }, { loadModels });
  await runCommand({ file: 'a.yaml', prompt: 'go', models: 'models.yaml' }, fakeIo(), parts);
  expect(asked).toEqual(['models.yaml']);
  expect(hostOptions[0]).toMatchObject(settings);
});

test('a script of the command line plays every model; one of the file only those who name it', async () => {
  const own = agent({ name: 'solo', description: '', model: 'gemini/x' }) as never;
  const fromFlag = fakeHost({ steps }, { definition: own });
  await runCommand({ file: 'a.yaml', prompt: 'go', script: 's.yaml' }, fakeIo(), fromFlag.parts);
  expect(fromFlag.runs[0]?.options?.model).toBe('scripted');
  const loadDefinition = async () => ({ definition: own, script: '/project/s.yaml', notices: [] });
  const fromFile = fakeHost({ steps }, { loadDefinition });
  await runCommand({ file: 'a.yaml', prompt: 'go' }, fakeIo(), fromFile.parts);
  expect(fromFile.runs[0]?.options?.model).toBeUndefined();
  expect(Object.keys(fromFile.hostOptions[0]?.models ?? {})).toEqual(['scripted']);
});

test('a script of the file plays agents that name no model at all', async () => {
  const definition = agent({ name: 'solo', description: '' }) as never;
  const { parts, runs } = fakeHost(
    { steps },
    { loadDefinition: async () => ({ definition, script: '/s.yaml', notices: [] }) },
  );
  await runCommand({ file: 'a.yaml', prompt: 'go' }, fakeIo(), parts);
  expect(runs[0]?.options?.model).toBe('scripted');
});

test('without a terminal questions are denied; with one, or with --yes or --no, they are answered', async () => {
  const elicitation = async (command: object, terminal: boolean) => {
    const { parts, hostOptions } = fakeHost({ steps });
    await runCommand({ file: 'a.yaml', prompt: 'go', ...command }, fakeIo({ terminal }), parts);
    return hostOptions[0]?.elicitation;
  };
  expect(await elicitation({}, false)).toBe('deny');
  expect(await elicitation({}, true)).toBe('respond');
  expect(await elicitation({ yes: true }, false)).toBe('respond');
  expect(await elicitation({ no: true }, false)).toBe('respond');
});

test('without a terminal --yes says yes to tools and cancels what it cannot answer', async () => {
  const { parts, log } = fakeHost({
    steps: [initialize('solo'), confirms('rm', {}), asks('Why?', { requestId: 'q2' }), ends('completed')],
  });
  await runCommand({ file: 'a.yaml', prompt: 'go', yes: true }, fakeIo(), parts);
  expect(log.slice(0, 2)).toEqual(['respond q1 {"action":"accept"}', 'respond q2 {"action":"cancel"}']);
});

test('in a terminal the tree is on stderr, the result on stdout, and questions are asked', async () => {
  const io = fakeIo({ terminal: true, env: { NO_COLOR: '1' } });
  const prompter = scriptedPrompter(['Always, in this session']);
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  const { parts, log } = fakeHost(
    {
      steps: [
        initialize('solo'),
        calls('rm', {}),
        confirms('rm', {}),
        settled,
        returns('rm'),
        says('done'),
        ends('completed'),
      ],
    },
    { prompter: async () => prompter },
  );
  expect(await runCommand({ file: 'a.yaml', prompt: 'go' }, io, parts)).toBe(0);
  expect(io.stdout.text).toBe('the answer\n');
  expect(io.stderr.text).toContain('✓ solo  completed');
  expect(log[0]).toBe('respond q1 {"action":"accept","content":{"outcome":"proceed_always"}}');
});

test('plain lines wait while a question is on the screen', async () => {
  const io = fakeIo({ terminal: true, env: { TERM: 'dumb' } });
  let answer = () => {};
  const seen: string[] = [];
  const prompter: Prompter = {
    ...scriptedPrompter(),
    choose: ({ choices }) =>
      new Promise((resolve) => {
        seen.push(io.stderr.text);
        answer = () => {
          seen.push(io.stderr.text);
          resolve(choices[0]!.value);
        };
      }),
  };
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  const { parts } = fakeHost(
    {
      steps: [
        initialize('solo'),
        confirms('rm', {}),
        settled,
        calls('search', {}),
        async () => answer(),
        settled,
        ends('completed'),
      ],
    },
    { prompter: async () => prompter },
  );
  await runCommand({ file: 'a.yaml', prompt: 'go' }, io, parts);
  expect(seen[1]).toBe(seen[0]);
  expect(io.stderr.text).toContain('calls search {}');
});

test('the result is neutralised for a terminal and left as it is for a file', async () => {
  const result = { text: 'a\u001b[2Jb\n\u202ec' };
  const terminal = fakeIo({ terminal: true });
  await runCommand({ file: 'a.yaml', prompt: 'go' }, terminal, fakeHost({ steps, result }).parts);
  expect(terminal.stdout.text).toBe('a<U+001B>[2Jb\n<U+202E>c\n');
  const file = fakeIo();
  await runCommand({ file: 'a.yaml', prompt: 'go' }, file, fakeHost({ steps, result }).parts);
  expect(file.stdout.text).toBe('a\u001b[2Jb\n\u202ec\n');
});

test('a reader that leaves early changes neither the run nor its exit code', async () => {
  const io = fakeIo();
  const { parts, log } = fakeHost({
    steps: [initialize('solo'), async () => io.stdout.hangUp(), says('a'), says('b', 'm2'), ends('completed')],
  });
  expect(await runCommand({ file: 'a.yaml', prompt: 'go', json: true }, io, parts)).toBe(0);
  expect(io.stdout.text.trimEnd().split('\n')).toHaveLength(1);
  expect(log).toEqual(['drained', 'closed']);
});

test('a slow reader holds the run back', async () => {
  const io = fakeIo();
  let release = () => {};
  const order: string[] = [];
  const write = io.stdout.write;
  io.stdout.write = (text) => {
    void write(text);
    order.push('write');
    return new Promise((resolve) => {
      release = () => {
        order.push('release');
        resolve();
      };
    });
  };
  const { parts } = fakeHost({ steps: [initialize('solo'), says('a')] });
  const code = runCommand({ file: 'a.yaml', prompt: 'go', json: true }, io, parts);
  for (let count = 0; count < 2; count++) {
    await new Promise((resolve) => setImmediate(resolve));
    release();
  }
  await code;
  expect(order).toEqual(['write', 'release', 'write', 'release']);
});

test('SIGINT aborts the run and says what a second one does; the second ends the process', async () => {
  const io = fakeIo();
  const host: ReturnType<typeof fakeHost> = fakeHost({
    steps: [
      initialize('solo'),
      async () => {
        io.raise('SIGINT');
        await host.aborted;
        expect(io.exits).toEqual([]);
        io.raise('SIGINT');
      },
      ends('aborted'),
    ],
    result: { reason: 'aborted', text: '' },
  });
  expect(await runCommand({ file: 'a.yaml', prompt: 'go' }, io, host.parts)).toBe(130);
  expect(host.log).toEqual(['abort interrupted', 'drained', 'closed']);
  expect(io.stderr.text).toContain('stopping the run; once more ends it at once');
  expect(io.exits).toEqual([130]);
  expect(io.listening).toBe(0);
});

test('a signal before the run has begun ends the process at once', async () => {
  const io = fakeIo();
  const { parts } = fakeHost(
    { steps },
    {
      loadModel: async () => {
        io.raise('SIGTERM');
        throw new Error('too late');
      },
    },
  );
  await expect(runCommand({ file: 'a.yaml', prompt: 'go', script: 's.yaml' }, io, parts)).rejects.toThrow('too late');
  expect(io.exits).toEqual([130]);
});

test('Ctrl-C in a form aborts the run as a signal does', async () => {
  const { FormStopped } = await import('../../src/cli/question-form.js');
  const io = fakeIo({ terminal: true });
  const host: ReturnType<typeof fakeHost> = fakeHost(
    {
      steps: [initialize('solo'), asks('Why?'), () => host.aborted, ends('aborted')],
      result: { reason: 'aborted', text: '' },
    },
    { prompter: async () => scriptedPrompter([new FormStopped('interrupted')]) },
  );
  expect(await runCommand({ file: 'a.yaml', prompt: 'go' }, io, host.parts)).toBe(130);
  expect(host.log[0]).toBe('abort interrupted');
});

test('wrong use of the run is thrown, and the host is closed', async () => {
  const fault = new TroupeError({ code: 'UNKNOWN_MODEL', message: 'no model "x"' });
  const { parts, log } = fakeHost({ steps: [], fault });
  await expect(runCommand({ file: 'a.yaml', prompt: 'go' }, fakeIo(), parts)).rejects.toBe(fault);
  expect(log).toEqual(['closed']);
});

test('the workspace is the current folder unless --root says otherwise, and notices of the file are shown', async () => {
  const seen: string[] = [];
  const { parts } = fakeHost(
    { steps },
    {
      loadDefinition: async (path) => {
        seen.push(path);
        return { definition: agent({ name: 'solo', description: '' }) as never, notices: ['old \u001b[31m key'] };
      },
      workspaceTools: (root) => {
        seen.push(root);
        return [];
      },
    },
  );
  const io = fakeIo({ cwd: '/home/me' });
  await runCommand({ file: 'team/a.yaml', prompt: 'go' }, io, parts);
  await runCommand({ file: '/abs.yaml', prompt: 'go', root: 'docs' }, fakeIo({ cwd: '/home/me' }), parts);
  expect(seen).toEqual(['team/a.yaml', '/home/me', '/abs.yaml', '/home/me/docs']);
  expect(io.stderr.text).toContain('troupe: old <U+001B>[31m key\n');
});
