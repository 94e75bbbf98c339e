import { expect, test } from 'vitest';
import { type ConfirmationPolicy, createQuestionDesk } from '../../src/cli/question-desk.js';
import { FormStopped, type Prompter } from '../../src/cli/question-form.js';
import { TroupeError } from '../../src/kernel/errors.js';
import { asks, confirms, eventList, type Step } from './event-list.js';
import { scriptedPrompter } from './scripted-prompter.js';

interface SetUp {
  confirmations?: ConfirmationPolicy;
  prompter?: ((signal: AbortSignal) => Promise<Prompter>) | undefined;
  respond?: (requestId: string) => void;
}

function setUp(options: SetUp) {
  const log: string[] = [];
  const desk = createQuestionDesk({
    run: {
      respond(requestId, answer) {
        options.respond?.(requestId);
        log.push(`${requestId} ${JSON.stringify(answer)}`);
      },
    },
    confirmations: options.confirmations ?? 'ask',
    prompter: options.prompter,
    screen: { pause: () => log.push('pause'), resume: () => log.push('resume') },
    onInterrupt: () => log.push('interrupt'),
  });
  const see = (...drafts: readonly Step[]) => {
    for (const event of eventList(...drafts)) desk.see(event);
  };
  return { desk, log, see };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('questions that come at once are asked one after another, and the tree stands aside once', async () => {
  const prompter = scriptedPrompter(['Yes, once'], ['No'], ['yes']);
  const { log, see } = setUp({ prompter: async () => prompter });
  see(confirms('write_file', {}, 'q1'), confirms('rm', {}, 'q2'), asks('Go on?', { requestId: 'q3' }));
  await settled();
  expect(log).toEqual([
    'pause',
    'q1 {"action":"accept","content":{"outcome":"proceed_once"}}',
    'q2 {"action":"decline"}',
    'q3 {"action":"accept"}',
    'resume',
  ]);
});

test('--yes and --no answer confirmations of tools and nothing else', async () => {
  const yes = setUp({ confirmations: 'yes' });
  yes.see(confirms('write_file', {}), asks('Which?', { requestId: 'q2' }));
  const no = setUp({ confirmations: 'no' });
  no.see(confirms('write_file', {}), asks('Which?', { requestId: 'q2' }));
  await settled();
  expect(yes.log).toEqual(['q1 {"action":"accept"}', 'q2 {"action":"cancel"}']);
  expect(no.log).toEqual(['q1 {"action":"decline"}', 'q2 {"action":"cancel"}']);
});

test('with --yes a person is still asked what is no confirmation', async () => {
  const prompter = scriptedPrompter(['no']);
  const { log, see } = setUp({ confirmations: 'yes', prompter: async () => prompter });
  see(confirms('write_file', {}), asks('Which?', { requestId: 'q2' }));
  await settled();
  expect(log).toEqual(['q1 {"action":"accept"}', 'pause', 'q2 {"action":"decline"}', 'resume']);
});

test('an answer that is not taken is asked for again, with what was wrong', async () => {
  const prompter = scriptedPrompter(['yes'], ['yes']);
  let tries = 0;
  const { log, see } = setUp({
    prompter: async () => prompter,
    respond: () => {
      if (tries++ === 0) throw new TroupeError({ code: 'INVALID_ANSWER', message: 'x must be a number' });
    },
  });
  see(asks('Go on?'));
  await settled();
  expect(prompter.said.join('\n')).toContain('That answer was not taken: x must be a number');
  expect(log).toEqual(['pause', 'q1 {"action":"accept"}', 'resume']);
});

test('an answer that is refused later, by a notice, is asked for again too; other notices change nothing', async () => {
  const prompter = scriptedPrompter(['yes'], ['no']);
  const { log, see } = setUp({ prompter: async () => prompter });
  see(asks('Go on?'));
  await settled();
  const notice = (code: string) =>
    ({
      type: 'custom',
      kind: 'notice',
      data: { code, severity: 'warning', text: 'the answer to q1 ("Go on?") does not fit' },
    }) as const;
  see(notice('QUOTA'));
  await settled();
  expect(log).toEqual(['pause', 'q1 {"action":"accept"}', 'resume']);
  see(notice('ANSWER_REFUSED'));
  await settled();
  expect(prompter.said.join('\n')).toContain('That answer was not taken: the answer to q1');
  expect(log.slice(3)).toEqual(['pause', 'q1 {"action":"decline"}', 'resume']);
  see({ type: 'elicitation_response', requestId: 'q1', action: 'decline' }, notice('ANSWER_REFUSED'));
  await settled();
  expect(log).toHaveLength(6);
});

test('an answer that comes too late is dropped', async () => {
  const prompter = scriptedPrompter(['yes']);
  const respond = () => {
    throw new TroupeError({ code: 'UNKNOWN_REQUEST', message: 'gone' });
  };
  const { desk, log, see } = setUp({ prompter: async () => prompter, respond });
  see(asks('Go on?'));
  await settled();
  expect(log).toEqual(['pause', 'resume']);
  await desk.close();
});

test('a question that was answered elsewhere is withdrawn while it is shown, and dropped while it waits', async () => {
  let shown = 0;
  const prompter = async (signal: AbortSignal): Promise<Prompter> => ({
    ...scriptedPrompter(),
    confirm: () =>
      new Promise((_, reject) => {
        shown++;
        signal.addEventListener('abort', () => reject(new FormStopped('withdrawn')));
      }),
  });
  const { log, see } = setUp({ prompter });
  see(asks('One?', { requestId: 'q1' }), asks('Two?', { requestId: 'q2' }));
  await settled();
  see(
    { type: 'elicitation_response', requestId: 'q2', action: 'cancel' },
    { type: 'elicitation_response', requestId: 'q1', action: 'cancel' },
  );
  await settled();
  expect(shown).toBe(1);
  expect(log).toEqual(['pause', 'resume']);
});

test('Ctrl-C in a form interrupts the run, once, and nothing more is asked', async () => {
  const prompter = scriptedPrompter([new FormStopped('interrupted')]);
  const { log, see } = setUp({ prompter: async () => prompter });
  see(asks('Go on?'), asks('Sure?', { requestId: 'q2' }));
  await settled();
  see(asks('Really?', { requestId: 'q3' }));
  await settled();
  expect(prompter.asked).toEqual(['Accept?']);
  expect(log).toEqual(['pause', 'interrupt', 'resume']);
});

test('closing withdraws what is shown and asks nothing more', async () => {
  const prompter = async (signal: AbortSignal): Promise<Prompter> => ({
    ...scriptedPrompter(),
    confirm: () =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new FormStopped('withdrawn')))),
  });
  const { desk, log, see } = setUp({ prompter });
  see(asks('One?', { requestId: 'q1' }), asks('Two?', { requestId: 'q2' }));
  await settled();
  await desk.close();
  see(asks('Three?', { requestId: 'q3' }));
  await settled();
  expect(log).toEqual(['pause', 'resume']);
});

test('a form that breaks stops the run, and closing says why', async () => {
  const { desk, log, see } = setUp({ prompter: () => Promise.reject(new Error('no terminal after all')) });
  see(asks('Go on?'));
  await settled();
  expect(log).toEqual(['pause', 'interrupt', 'resume']);
  await expect(desk.close()).rejects.toThrow('no terminal after all');
});
