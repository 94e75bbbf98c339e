import { narrowPermissionMode } from '../../kernel/narrow.js';
import { defined, readConstraints, readRequired, type Surroundings } from './agent-options.js';
import type { Dialect } from './dialect.js';
import { deniesSkills, type Notice, translateTools } from './foreign-tools.js';
import type { FileAgentOptions } from './node.js';
import { toPlain } from './raw.js';
import type { Section } from './section.js';
import { readSkillFolders } from './skill-folders.js';

const READ_KEYS = [
  'name',
  'displayName',
  'description',
  'tools',
  'disallowedTools',
  'model',
  'permissionMode',
  'color',
  'skills',
];
const LIMIT_KEYS = ['maxTurns', 'timeoutMins'];
const REMOTE_KEYS = ['kind', 'agentCardUrl', 'agentCardJson', 'auth'];
const GENERATION_KEYS = ['temperature'];
const KNOWN_MODES = ['default', 'acceptEdits', 'auto_edit', 'autoEdit', 'plan', 'dontAsk', 'bypassPermissions', 'yolo'];
const KNOWN_MODELS = /^(sonnet|opus|haiku|auto|pro|flash|flash-lite|gemini-.+|.+\/.+)$/;

/**
 * Options of an agent written for Claude Code or Gemini CLI. Absent `tools` are all that the parent has, `inherit` is
 * the parent's model, tools of those programs become ours. What has no counterpart here becomes a notice, and what would
 * grant more than the file says is left out.
 */
export async function readForeignAgent(
  section: Section,
  surroundings: Surroundings & { dialect: Dialect; body: string; hostTools: readonly string[] | undefined },
): Promise<FileAgentOptions> {
  const { dialect, body, metadata } = surroundings;
  const notice = noticesOf(section);
  noticeOthers(section, notice);
  const kind = dialect === 'gemini-cli' ? section.choice('kind', ['local', 'remote']) : undefined;
  const isRemote = kind === 'remote' || section.has('agentCardUrl') || section.has('agentCardJson');
  const name = readRequired(section, 'name') ?? '';
  return defined({
    name,
    displayName: section.text('displayName'),
    description: isRemote && !section.has('description') ? name : readRequired(section, 'description'),
    instruction: body === '' ? undefined : body,
    model: readModel(section, notice),
    ...translateTools(section, notice, surroundings.hostTools),
    skills:
      isRemote || deniesSkills(section) ? undefined : await readSkillFolders(section, surroundings.folder, notice),
    ...(isRemote && { executor: 'remote', backend: readRemote(section), inheritTools: undefined }),
    constraints: readConstraints(section),
    generation: section.has('temperature') ? defined({ temperature: section.amount('temperature') }) : undefined,
    metadata: defined({
      ...metadata,
      origin: dialect,
      permissionMode: readMode(section, notice),
      color: section.text('color'),
    }),
  });
}

function noticesOf(section: Section): Notice {
  return (key, text) => section.report.notices.push(`${section.place(key)}: ${text}`);
}

function noticeOthers(section: Section, notice: Notice): void {
  const read = new Set([...READ_KEYS, ...LIMIT_KEYS, ...REMOTE_KEYS, ...GENERATION_KEYS]);
  for (const key of section.keys()) {
    const camel = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (!read.has(camel)) notice(key, 'has no counterpart here and is not used');
  }
}

function readModel(section: Section, notice: Notice): string | undefined {
  const model = section.text('model')?.trim();
  if (model === undefined || model === '' || model === 'inherit') return undefined;
  if (!KNOWN_MODELS.test(model)) notice('model', `"${model}" is kept as an alias; the host must know it`);
  return /^gemini-[^/]+$/.test(model) ? `gemini/${model}` : model;
}

function readMode(section: Section, notice: Notice): string | undefined {
  const mode = section.text('permissionMode');
  if (mode === undefined) return undefined;
  if (!KNOWN_MODES.includes(mode)) notice('permissionMode', `"${mode}" is not known and is read as default`);
  return narrowPermissionMode(mode);
}

function readRemote(section: Section): Record<string, unknown> {
  const card = section.text('agentCardJson');
  if (card === undefined && !section.has('agentCardUrl'))
    section.say('agentCardUrl', 'is missing: a remote agent needs its card');
  const auth = section.raw('auth');
  return defined({
    cardUrl: section.text('agentCardUrl'),
    card: card && readCard(section, card),
    auth: auth && toPlain(auth),
  });
}

function readCard(section: Section, card: string): unknown {
  try {
    return JSON.parse(card);
  } catch {
    return section.say('agentCardJson', 'is no JSON');
  }
}
