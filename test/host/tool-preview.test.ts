import { expect, test, vi } from 'vitest';
import type { ToolDefinition, ToolPreview } from '../../src/contracts/index.js';
import { expectNoLeaks, virtualClock } from '../../src/testing/index.js';
import { deferred, ofType, settle } from '../support/team.js';
import { calls, runDesk } from './tool-desk.js';

type Preview = NonNullable<ToolDefinition['preview']>;

const saving = (preview: unknown, execute = vi.fn(() => 'saved')): ToolDefinition => ({
  kind: 'tool',
  name: 'save',
  descriptor: { name: 'save', description: 'Saves.', parametersSchema: { type: 'object' } },
  preview: preview as Preview,
  execute,
});
const script = [calls(['save', { text: 'x' }])];
const accept = { action: 'accept' };

test('a question shows the diff that the tool makes of the arguments', async () => {
  const preview = vi.fn((args: { text: string }) => Promise.resolve({ diff: `+${args.text}\n` }));
  const { questions } = await runDesk({ own: [saving(preview)], script, answer: accept });
  expect(questions[0]?.context).toMatchObject({ diff: '+x\n' });
  // Before the question, and when it is answered.
  expect(preview).toHaveBeenCalledTimes(2);
});

test.each<[string, unknown, unknown]>([
  ['another change', { diff: '@@ -1,1 +1,1 @@\n-a\n+x\n' }, { diff: '@@ -1,1 +1,1 @@\n-b\n+x\n' }],
  ['a change that was none', { problem: 'a does not stand there' }, { diff: '+x\n' }],
  ['none any more', { diff: '+x\n' }, { problem: 'a does not stand there' }],
])('an answer that comes when it would be about %s is void: it is asked again', async (_, then, now) => {
  const shown = [then, now, now];
  const execute = vi.fn(() => 'saved');
  const { questions, events } = await runDesk({
    own: [saving(() => shown.shift(), execute)],
    script,
    answer: ({ followUpTo }) => (followUpTo === undefined ? accept : { action: 'decline' }),
  });
  expect(questions.map(({ context }) => context)).toMatchObject([then, now]);
  expect(questions[1]?.followUpTo).toBe(questions[0]?.requestId);
  expect(execute).not.toHaveBeenCalled();
  expect(ofType(events, 'custom').map(({ data }) => data)).toContainEqual(
    expect.objectContaining({ code: 'APPROVAL_VOID' }),
  );
});

test('the same change at another place of its file is still what was approved', async () => {
  const shown = [{ diff: '@@ -1,1 +1,1 @@\n-a\n+x\n' }, { diff: '@@ -9,1 +9,1 @@\n-a\n+x\n' }];
  const { questions, responses } = await runDesk({ own: [saving(() => shown.shift())], script, answer: accept });
  expect(questions).toHaveLength(1);
  expect(responses[0]?.isError).toBeUndefined();
});

test.each([
  ['asked about again', accept, 0],
  ['run once a person said "always" to it', { action: 'accept', content: { outcome: 'proceed_always' } }, 1],
])('an approved call that waited while what it would change became another is %s', async (_, answer, runs) => {
  const looked = deferred();
  let looks = 0;
  const preview = () => {
    looks += 1;
    // Before the question, and when it is answered; then when it would run.
    if (looks === 2) looked.resolve();
    return { diff: looks <= 2 ? '+a\n' : '+b\n' };
  };
  const hold: ToolDefinition = {
    kind: 'tool',
    name: 'hold',
    descriptor: { name: 'hold', description: 'Holds.', parametersSchema: { type: 'object' } },
    execute: async () => {
      await looked.promise;
      await settle();
      return 'held';
    },
  };
  const execute = vi.fn(() => 'saved');
  const { questions, events } = await runDesk({
    own: [hold, saving(preview, execute)],
    script: [calls('hold', ['save', { text: 'x' }])],
    answer: ({ context }) =>
      context?.diff === '+b\n' ? { action: 'decline' } : context?.tool === 'desk.hold' ? accept : answer,
  });
  const diffs = questions.flatMap(({ context }) => (context?.diff === undefined ? [] : [context.diff]));
  expect(diffs).toEqual(runs === 1 ? ['+a\n'] : ['+a\n', '+b\n']);
  expect(execute).toHaveBeenCalledTimes(runs);
  expect(JSON.stringify(events).includes('APPROVAL_VOID')).toBe(runs === 0);
});

test('what would change something else at every answer is given up at the fourth', async () => {
  let times = 0;
  const execute = vi.fn(() => 'saved');
  const preview = () => ({ diff: `+${++times}\n` });
  const { questions, responses } = await runDesk({ own: [saving(preview, execute)], script, answer: accept });
  expect(questions).toHaveLength(4);
  expect(execute).not.toHaveBeenCalled();
  expect(responses[0]).toMatchObject({ isError: true, errorType: 'declined' });
  expect(JSON.stringify(responses[0]?.llmContent)).toContain('is not what was shown any more');
});

test('a call that nobody is asked about is not previewed', async () => {
  const preview = vi.fn(() => ({ diff: '+x\n' }));
  await runDesk({ own: [saving(preview)], script, run: { permissionMode: 'autonomous' } });
  expect(preview).not.toHaveBeenCalled();
});

test('a preview reads a copy: what it does to its arguments changes no call', async () => {
  const execute = vi.fn(() => 'saved');
  const spoil = (args: { text: string }) => {
    args.text = 'spoilt';
    return {};
  };
  const { questions } = await runDesk({ own: [saving(spoil, execute)], script, answer: accept });
  expect(questions[0]?.context?.args).toEqual({ text: 'x' });
  expect(execute).toHaveBeenCalledWith({ text: 'x' }, expect.anything());
});

test.each<[string, Preview | (() => unknown), string]>([
  [
    'throws',
    () => {
      throw new Error('no such file');
    },
    'what would change is not known: no such file',
  ],
  ['rejects', () => Promise.reject(new Error('no such file')), 'what would change is not known: no such file'],
  ['says why the call would fail', () => ({ problem: 'it is not there' }), 'it is not there'],
])('where a preview %s, the question says so and is asked all the same', async (_, preview, problem) => {
  const { questions, responses } = await runDesk({ own: [saving(preview)], script, answer: accept });
  expect(questions[0]?.context).toMatchObject({ problem });
  expect(questions[0]?.context).not.toHaveProperty('diff');
  expect(responses[0]?.llmContent).toEqual([{ type: 'text', text: 'saved' }]);
});

test.each([
  ['nothing', undefined],
  ['no object', 'text'],
  ['a diff that is no text', { diff: 7, problem: {} }],
])('a preview that is %s adds nothing', async (_, shown) => {
  const { questions } = await runDesk({ own: [saving(() => shown)], script, answer: accept });
  expect(questions[0]?.context).not.toHaveProperty('diff');
  expect(questions[0]?.context).not.toHaveProperty('problem');
});

test('a diff of any size is shown in part, and says that it is', async () => {
  const diff = 'x'.repeat(128 * 1024 + 50);
  const { questions } = await runDesk({ own: [saving(() => ({ diff }))], script, answer: accept });
  const shown = String(questions[0]?.context?.diff);
  expect(shown.length).toBeLessThan(diff.length + 60);
  expect(shown.endsWith('x\n[50 more characters of the change are not shown]\n')).toBe(true);
});

test('a preview that never settles is given up after 5 s, and its signal fires', async () => {
  const clock = virtualClock();
  const begun = deferred();
  let seen: AbortSignal | undefined;
  const hangs = (_: unknown, { signal }: { signal: AbortSignal }) => {
    seen = signal;
    begun.resolve();
    return new Promise<ToolPreview>(() => {});
  };
  const ended = runDesk({ own: [saving(hangs)], script, host: { clock }, answer: accept });
  await begun.promise;
  await clock.advance(4_999);
  expect(seen?.aborted).toBe(false);
  await clock.advance(1);
  // It is looked at once more when the answer has come.
  await vi.waitFor(() => expect(seen?.aborted).toBe(false));
  await clock.advance(5_000);
  const { questions } = await ended;
  expect(seen?.aborted).toBe(true);
  expect(questions[0]?.context).toMatchObject({
    problem: 'what would change could not be worked out within 5000 ms',
  });
  expect(clock.pending).toBe(0);
});

test('a run that is aborted while a preview is made asks nothing and leaves nothing', async () => {
  await expectNoLeaks(async () => {
    let abort: (() => void) | undefined;
    const begun = deferred();
    const made = deferred<ToolPreview>();
    const preview = () => {
      begun.resolve();
      return made.promise;
    };
    const execute = vi.fn(() => 'saved');
    const ended = runDesk({
      own: [saving(preview, execute)],
      script,
      onEvent: (_, run) => {
        abort = () => run.abort('enough');
      },
    });
    await begun.promise;
    abort?.();
    made.resolve({ diff: '+late\n' });
    await settle();
    const { questions, responses, result } = await ended;
    expect(questions).toEqual([]);
    expect(responses.map(({ errorType }) => errorType)).toEqual(['cancelled']);
    expect(execute).not.toHaveBeenCalled();
    expect(result.reason).toBe('aborted');
  });
});
