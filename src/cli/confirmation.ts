import type { ElicitationAnswer } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { editableOf, readEdited } from './edit-call.js';
import { indented, prettyJson, visibleLine, visibleLines } from './plain-text.js';
import type { Choice, Prompter, Question } from './question-form.js';

/** What a person must see before saying yes: the tool, all its arguments, what they would do, and who asks. */
export function confirmationLines({ request, agentName }: Question): string[] {
  const context = request.context ?? {};
  const tool = typeof context.tool === 'string' ? context.tool : 'a tool';
  const asker = typeof context.principalPath === 'string' ? context.principalPath : agentName;
  const lines = [`${visibleLine(asker)} wants to use ${visibleLine(tool)}`];
  if (request.message !== '') lines.push(...indented(visibleLines(request.message)));
  if (context.args !== undefined) lines.push('Arguments:', ...indented(visibleLines(prettyJson(context.args))));
  if (Array.isArray(context.commands))
    lines.push('Commands:', ...context.commands.flatMap((command) => indented(visibleLines(asText(command)))));
  lines.push(...previewLines(context));
  if (typeof context.rule === 'string') lines.push(`Asked because of: ${visibleLine(context.rule)}`);
  return lines;
}

function previewLines({ diff, problem }: { diff?: unknown; problem?: unknown }): string[] {
  return [
    ...(typeof diff === 'string' ? ['Change:', ...indented(visibleLines(diff))] : []),
    ...(typeof problem === 'string' ? ['It would fail:', ...indented(visibleLines(problem))] : []),
  ];
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Asks whether a call may run, with the outcomes that the question offers. */
export async function askConfirmation(question: Question, prompter: Prompter): Promise<ElicitationAnswer> {
  const outcome = await prompter.choose({
    message: 'Allow it?',
    choices: choicesFor(question),
    initial: 'proceed_once',
  });
  if (outcome === 'decline') return { action: 'decline' };
  if (outcome !== 'modify') return { action: 'accept', content: { outcome } };
  return askEdited(question, prompter);
}

function choicesFor({ request }: Question): Choice<string>[] {
  const offered = outcomesOf(request.requestedSchema);
  const { tool, mcp, savedRules } = request.context ?? {};
  const server = (mcp as { server?: unknown } | undefined)?.server;
  const may: Choice<string>[] = [
    { value: 'proceed_always', label: 'Always, in this session', hint: 'the same action again is not asked' },
    { value: 'proceed_always_tool', label: `Always for ${visibleLine(String(tool))}`, hint: 'whatever its arguments' },
    { value: 'proceed_always_server', label: `Always for all tools of ${visibleLine(String(server))}` },
    { value: 'proceed_always_and_save', label: 'Always, and save it as a rule', hint: rulesText(savedRules) },
    { value: 'modify', label: 'Change it first', hint: 'in $EDITOR; it is shown again' },
  ];
  return [
    { value: 'proceed_once', label: 'Yes, once' },
    ...may.filter(({ value }) => offered === undefined || offered.includes(value)),
    { value: 'decline', label: 'No' },
  ];
}

/** A question of another making need not say which: then what every host takes is offered. */
function outcomesOf(schema: unknown): readonly unknown[] | undefined {
  const { properties } = (schema ?? {}) as { properties?: { outcome?: { enum?: unknown } } };
  const offered = properties?.outcome?.enum;
  return Array.isArray(offered) ? offered : ['proceed_always'];
}

function rulesText(rules: unknown): string {
  if (!Array.isArray(rules)) return '';
  const texts = rules.map((rule: Record<string, unknown>) =>
    asText(rule.commandPrefix ?? rule.commandRegex ?? rule.argsPattern ?? rule.toolName),
  );
  return visibleLine(texts.join(', '));
}

/** The call as the person wants it, shown once more before it is sent. */
async function askEdited(question: Question, prompter: Prompter): Promise<ElicitationAnswer> {
  const { request, preview } = question;
  const { kind, tool } = request.context ?? {};
  let args = request.context?.args;
  for (;;) {
    const edited = await edit(prompter, kind, args);
    if ('fault' in edited) prompter.say([`It is not changed: ${visibleLine(edited.fault)}`]);
    else {
      args = edited.args;
      const shown = await preview?.(String(tool), args).catch(() => undefined);
      prompter.say([
        'It would be, as changed:',
        ...indented(visibleLines(prettyJson(args))),
        ...previewLines(shown ?? {}),
      ]);
    }
    const next = await prompter.choose({
      message: 'Allow it as it stands?',
      choices: [
        ...('fault' in edited ? [] : [{ value: 'modify', label: 'Yes, as changed' }]),
        { value: 'again', label: 'Change it again' },
        { value: 'decline', label: 'No' },
      ],
      initial: 'fault' in edited ? 'again' : 'modify',
    });
    if (next === 'decline') return { action: 'decline' };
    if (next === 'modify') return { action: 'accept', content: { outcome: 'modify', modifiedArgs: args } };
  }
}

async function edit(prompter: Prompter, kind: unknown, args: unknown): Promise<ReturnType<typeof readEdited>> {
  try {
    return readEdited(kind, args, await prompter.edit(editableOf(kind, args)));
  } catch (thrown) {
    if (thrown instanceof TroupeError) return { fault: thrown.message };
    throw thrown;
  }
}

/** The plan of an agent that wants to leave plan mode. */
export async function askPlan({ request }: Question, prompter: Prompter): Promise<ElicitationAnswer> {
  prompter.say(indented(visibleLines(String(request.context?.plan ?? ''))));
  const mode = await prompter.choose({
    message: 'Carry it out?',
    choices: [
      { value: 'default', label: 'Yes', hint: 'each change is asked about' },
      { value: 'auto_edit', label: 'Yes, and allow edits', hint: 'commands are asked about' },
      { value: 'decline', label: 'No, go on planning' },
    ],
    initial: 'default',
  });
  if (mode !== 'decline') return { action: 'accept', content: { mode } };
  const feedback = await prompter.text({
    message: 'What is to be changed? (optional)',
    secret: false,
    check: () => undefined,
  });
  return feedback === '' ? { action: 'decline' } : { action: 'decline', content: { feedback } };
}
