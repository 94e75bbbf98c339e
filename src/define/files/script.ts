import type { ContentPart, ModelToolCall, ModelUsage } from '../../contracts/index.js';
import { type Problem, throwProblems } from '../../kernel/errors.js';
import type { ScriptEntry } from '../../models/scripted.js';
import { defined } from './agent-options.js';
import { parseJson, parseYaml } from './parse.js';
import { inFileOrder } from './problem-order.js';
import { describeRaw, type RawList, type RawMap, type RawNode, toPlain } from './raw.js';
import { readTextFile } from './read-text.js';
import { ENTRY_KEYS } from './script-shape.js';
import { openSection, type Report, type Section } from './section.js';

/** What `scriptedModel` takes, as far as a file can say it. */
export type FileScript = ScriptEntry[] | { byAgent: Record<string, ScriptEntry[]> };

const USAGE_KEYS = ['inputTokens', 'outputTokens', 'cachedTokens', 'thoughtTokens'] as const;

/**
 * Reads a script for the scripted model from YAML or JSON: a list of entries, or `byAgent` with a list for each agent.
 * Keys in snake_case or camelCase. Throws one `INVALID_DEFINITION` with every problem, each at `file:line:key`.
 */
export async function loadScriptFile(path: string): Promise<FileScript> {
  const report: Report = { file: path, problems: [], notices: [] };
  const root = await readRoot(path, report.problems);
  const script = root && (root.kind === 'list' ? entriesOf(report, root) : byAgentOf(report, root));
  throwProblems(inFileOrder(report.problems));
  return script ?? [];
}

async function readRoot(path: string, problems: Problem[]): Promise<RawList | RawMap | undefined> {
  const say = (place: string, message: string): undefined => {
    problems.push({ code: 'INVALID_DEFINITION', path: place, message });
    return undefined;
  };
  if (!/\.(ya?ml|json)$/i.test(path)) return say(path, 'is no script file: .yaml, .yml and .json are');
  const file = await readTextFile(path);
  if ('fault' in file) return say(path, file.fault);
  const parsed = await (/\.json$/i.test(path) ? parseJson : parseYaml)(path, file.text);
  problems.push(...parsed.problems);
  if (parsed.root === undefined) return parsed.problems.length > 0 ? undefined : say(path, 'is empty');
  if (parsed.root.kind !== 'scalar') return parsed.root;
  return say(
    `${path}:${parsed.root.line}`,
    `must hold a list of entries, or by_agent, not ${describeRaw(parsed.root)}`,
  );
}

function byAgentOf(report: Report, root: RawMap): { byAgent: Record<string, ScriptEntry[]> } {
  const section = openSection(report, root);
  section.refuseOthers(['byAgent']);
  if (!section.has('byAgent'))
    section.say('byAgent', 'is missing: a script is a list of entries, or by_agent with lists');
  const agents = section.names('byAgent');
  const byAgent: Record<string, ScriptEntry[]> = {};
  for (const name of agents?.keys() ?? []) {
    const list = agents?.list(name);
    byAgent[name] =
      list?.items.flatMap((item, index) =>
        entryOf(report, item, agents?.item(name, index), `${agents?.place(name, index)}`),
      ) ?? [];
  }
  return { byAgent };
}

/** A list at the top of a file has no key, so its entries are told as `[0]`, `[1]` … */
function entriesOf(report: Report, root: RawList): ScriptEntry[] {
  return root.items.flatMap((item, index) => {
    const section = item.kind === 'map' ? openSection(report, item, `[${index}]`) : undefined;
    return entryOf(report, item, section, `${report.file}:${item.line}:[${index}]`);
  });
}

function entryOf(report: Report, node: RawNode, section: Section | undefined, place: string): ScriptEntry[] {
  if (section !== undefined) return [readEntry(section)];
  report.problems.push({ code: 'INVALID_DEFINITION', path: place, message: `must be a map, not ${describeRaw(node)}` });
  return [];
}

function readEntry(section: Section): ScriptEntry {
  section.refuseOthers(ENTRY_KEYS);
  const error = section.section('error');
  return defined({
    thought: section.text('thought'),
    text: section.raw('text')?.kind === 'list' ? section.texts('text') : section.text('text'),
    refusal: section.text('refusal'),
    content: readContent(section),
    toolCalls: readCalls(section),
    usage: readUsage(section),
    finishReason: section.text('finishReason'),
    error: error && readError(error),
    delayMs: section.amount('delayMs'),
  });
}

function readCalls(section: Section): ModelToolCall[] | undefined {
  return section.list('toolCalls')?.items.flatMap((item, index) => {
    const call = section.item('toolCalls', index);
    if (call === undefined) return section.say('toolCalls', `must be a map, not ${describeRaw(item)}`, index) ?? [];
    call.refuseOthers(['id', 'name', 'args', 'brokenArgs', 'thoughtSignature']);
    if (!call.has('name')) call.say('name', 'is missing');
    return [
      defined({
        id: call.text('id'),
        name: call.text('name') ?? '',
        args: call.plain('args') ?? {},
        brokenArgs: call.text('brokenArgs'),
        thoughtSignature: call.text('thoughtSignature'),
      }),
    ];
  });
}

function readUsage(section: Section): ModelUsage | undefined {
  const inner = section.section('usage');
  if (inner === undefined) return undefined;
  inner.refuseOthers([...USAGE_KEYS, 'cost']);
  const cost = inner.section('cost');
  cost?.refuseOthers(['usd']);
  const tokens = Object.fromEntries(USAGE_KEYS.map((key) => [key, inner.count(key, 0)]));
  return defined({ ...tokens, cost: cost && defined({ usd: cost.amount('usd') }) });
}

function readError(section: Section): NonNullable<ScriptEntry['error']> {
  section.refuseOthers(['code', 'message', 'retryAfterMs', 'retryable', 'status']);
  if (!section.has('code')) section.say('code', 'is missing');
  const code = section.text('code') ?? '';
  return defined({
    code,
    message: section.text('message') ?? code,
    retryAfterMs: section.amount('retryAfterMs'),
    retryable: section.flag('retryable'),
    status: section.count('status', 100),
  });
}

/** Raw parts: each a map with its `type`. */
function readContent(section: Section): ContentPart[] | undefined {
  return section.list('content')?.items.flatMap((item, index) => {
    const part = section.item('content', index);
    if (part === undefined) return section.say('content', `must be a map, not ${describeRaw(item)}`, index) ?? [];
    if (!part.has('type')) return part.say('type', 'is missing') ?? [];
    return part.text('type') === undefined ? [] : [toPlain(part.map) as ContentPart];
  });
}
