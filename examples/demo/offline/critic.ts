import type { ModelRequest } from 'troupe';
import type { ScriptEntry } from 'troupe/testing';
import type { Drafting, Facts } from '../facts.js';
import { answeredCalls, answerTo, firstWords } from './conversation.js';
import { n } from './markdown.js';
import type { ToolCall } from './sweep.js';

/** Looks two claims up in the files themselves, then holds the draft against the facts. */
export function critic(request: ModelRequest): ScriptEntry {
  const { facts, draft = '' } = JSON.parse(firstWords(request)) as Drafting;
  const done = answeredCalls(request);
  const checks = checksOf(facts);
  if (done.length === 0 && checks.length > 0) return { toolCalls: checks.map(({ call }) => call) };

  const objections: string[] = [];
  for (const { call, holds, claim } of checks) {
    const answer = answerTo(done, call.name, call.args);
    if (answer !== undefined && !holds(answer.text))
      objections.push(`${claim} does not hold: ${firstLine(answer.text)}`);
  }
  for (const [rounded] of draft.matchAll(/about [\d,]+ (?:files|lines)/gi))
    objections.push(`"${rounded}" is a guess where the exact count is known: give the exact count.`);
  if (!draft.includes('## Not looked at')) objections.push('The section "Not looked at" is missing.');
  for (const claim of missingFrom(draft, facts)) objections.push(`The draft does not say that ${claim}.`);
  if (objections.length > 0) return { text: objections.map((objection) => `- ${objection}\n`) };
  return { toolCalls: [{ name: 'exit_loop', args: { reason: 'nothing is left to object to' } }] };
}

interface Check {
  readonly call: ToolCall;
  readonly claim: string;
  readonly holds: (answer: string) => boolean;
}

/** The largest file really has that many lines, and the first marker really stands there. */
function checksOf({ structure, todo }: Facts): Check[] {
  const [largest] = structure?.largest ?? [];
  const [marker] = todo?.markers ?? [];
  const checks: Check[] = [];
  if (largest !== undefined && largest.lines > 0) {
    const { path, lines } = largest;
    checks.push({
      call: { name: 'read_file', args: { path, offset: lines, limit: 1 } },
      claim: `That ${path} has ${n(lines)} lines`,
      // The last line can be read, and nothing is said of any behind it.
      holds: (answer) => !answer.includes('Read on') && !answer.includes('nothing from line'),
    });
  }
  if (marker !== undefined) {
    const { path, line, text } = marker;
    checks.push({
      call: { name: 'read_file', args: { path, offset: line, limit: 1 } },
      claim: `What stands at ${path}:${line}`,
      holds: (answer) => answer.includes(text.replace(/…$/, '')),
    });
  }
  return checks;
}

/** Counts that a report must give as they are. */
function missingFrom(draft: string, { inventory, structure }: Facts): string[] {
  const wanted: [string, string][] = [
    ...(inventory?.kinds ?? []).slice(0, 3).map(({ kind, files }): [string, string] => {
      return [`| ${n(files)} |`, `there are ${n(files)} files of the kind ${kind}`];
    }),
    ...(structure?.largest ?? []).slice(0, 3).map(({ path, lines }): [string, string] => {
      return [`${n(lines)} line`, `${path} has ${n(lines)} lines`];
    }),
  ];
  return wanted.filter(([text]) => !draft.includes(text)).map(([, claim]) => claim);
}

const firstLine = (text: string) => text.split('\n')[0] ?? '';
