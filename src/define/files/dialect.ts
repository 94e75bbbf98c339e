import { TEAM_MARKS } from './team-options.js';

/** Whose form a Markdown file has: ours, or that of another tool's sub-agents. */
export type Dialect = 'troupe' | 'claude-code' | 'gemini-cli';

/** What is said of the file: its path and the keys of its front matter as they are spelled. */
interface Traits {
  path: string;
  keys: readonly string[];
  model: unknown;
  tools: unknown;
}

const CLAUDE_KEYS = [
  'permissionMode',
  'disallowedTools',
  'color',
  'mcpServers',
  'hooks',
  'memory',
  'background',
  'isolation',
  'effort',
  'initialPrompt',
];
const GEMINI_KEYS = ['kind', 'temperature', 'mcp_servers', 'agent_card_url', 'agent_card_json', 'auth'];
const CLAUDE_MODELS = /^(inherit|sonnet|opus|haiku|claude-.*)$/;
/** Keys that all have, so they tell nothing. */
const COMMON_KEYS = [
  'name',
  'description',
  'model',
  'tools',
  'skills',
  'maxTurns',
  'max_turns',
  'timeout_mins',
  'display_name',
];

/**
 * By the folder (`.claude/agents`, `.gemini/agents`), by keys and values that only one tool has, and for a plain `.md`
 * (not `.agent.md`) with none but keys that all have: the other tools' form, in which absent `tools` are the parent's.
 * A team and a model named `provider/name` are ours.
 */
export function dialectOf({ path, keys, model, tools }: Traits): Dialect {
  const parts = path.split(/[\\/]/);
  if (keys.some((key) => TEAM_MARKS.includes(key))) return 'troupe';
  if (isIn(parts, '.claude')) return 'claude-code';
  if (isIn(parts, '.gemini')) return 'gemini-cli';
  if (keys.some((key) => GEMINI_KEYS.includes(key))) return 'gemini-cli';
  if (keys.some((key) => CLAUDE_KEYS.includes(key)) || typeof tools === 'string') return 'claude-code';
  const isOurs = path.endsWith('.agent.md') || (typeof model === 'string' && model.includes('/'));
  if (isOurs || !keys.every((key) => COMMON_KEYS.includes(key))) return 'troupe';
  if (keys.some((key) => ['max_turns', 'timeout_mins', 'display_name'].includes(key))) return 'gemini-cli';
  return model === undefined || (typeof model === 'string' && CLAUDE_MODELS.test(model)) ? 'claude-code' : 'gemini-cli';
}

const isIn = (parts: readonly string[], folder: string) =>
  parts.some((part, at) => part === folder && parts[at + 1] === 'agents');
