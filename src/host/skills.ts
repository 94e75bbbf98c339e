import type { AgentDefinition, Skill, ToolDefinition } from '../contracts/index.js';
import type { Problem } from '../kernel/errors.js';
import { cutText } from '../kernel/text.js';
import { visibleLine } from '../kernel/visible-text.js';

export type SkillReading = { readonly skill: Skill } | { readonly problems: readonly Problem[] };

/** Where skills come from, as the host sees it. */
export interface SkillReader {
  /** Reads the skill in a folder. Never rejects. */
  read(folder: string): Promise<SkillReading>;
  /** `activate_skill` for an agent that has these. */
  tool(skills: readonly Skill[], options: { trusted: boolean }): ToolDefinition;
}

/** What an agent has of its skills. */
export interface AgentSkills {
  readonly skills: readonly Skill[];
  readonly tool: ToolDefinition;
  /** Their names and descriptions, for the prompt. */
  readonly catalogue: string;
}

/** The skills of one host's agents: each folder is read once, before the first run that has it. */
export interface Skills {
  /** What a run of this agent waits for; nothing: all is known. Never rejects. */
  ready(agent: AgentDefinition): undefined | Promise<void>;
  /** Whether every skill of this agent, and of all below it, has been read. */
  isComplete(agent: AgentDefinition): boolean;
  /** Of one agent itself; nothing where it has none, or they are not all read. Faults are added to `problems`, and read anew. */
  of(agent: AgentDefinition, path: string, problems: Problem[]): AgentSkills | undefined;
  /** Another number each time that more is known. */
  readonly version: number;
}

const MOST_SKILLS = 64;
/** Of all descriptions in a prompt together. */
const MOST_CHARACTERS = 16_000;
const NONE: readonly string[] = [];

export function createSkills(open: () => Promise<SkillReader>, { trusted }: { trusted: boolean }): Skills {
  const readings = new Map<string, SkillReading>();
  const under = new Map<string, Promise<void>>();
  const made = new WeakMap<AgentDefinition, AgentSkills>();
  const folders = new WeakMap<AgentDefinition, readonly string[]>();
  let reader: SkillReader | undefined;
  let version = 0;

  function foldersIn(agent: AgentDefinition): readonly string[] {
    const { leader, children, skills = NONE } = agent;
    if (leader === undefined && children === undefined) return skills;
    let known = folders.get(agent);
    if (known === undefined) {
      const found = new Set<string>();
      gather(agent, found, new Set());
      known = found.size === 0 ? NONE : [...found];
      folders.set(agent, known);
    }
    return known;
  }

  function readOne(folder: string): Promise<void> {
    let reading = under.get(folder);
    if (reading === undefined) {
      reading = (async () => {
        reader ??= await open();
        readings.set(folder, await reader.read(folder));
        version++;
      })().finally(() => under.delete(folder));
      under.set(folder, reading);
    }
    return reading;
  }

  return {
    get version() {
      return version;
    },
    isComplete: (agent) => foldersIn(agent).every((folder) => readings.has(folder)),
    ready(agent) {
      const unread = foldersIn(agent).filter((folder) => !readings.has(folder));
      return unread.length === 0 ? undefined : Promise.all(unread.map(readOne)).then(() => {});
    },
    of(agent, path, problems) {
      const { skills: named = NONE } = agent;
      if (named.length === 0 || reader === undefined) return undefined;
      const known = made.get(agent);
      if (known !== undefined) return known;
      if (!named.every((folder) => readings.has(folder))) return undefined;
      const before = problems.length;
      const skills = named.flatMap((folder, index) => {
        const reading = readings.get(folder) as SkillReading;
        if ('skill' in reading) return [reading.skill];
        readings.delete(folder);
        for (const problem of reading.problems)
          problems.push({ ...problem, path: problem.path ?? placeOf(path, index) });
        return [];
      });
      for (const [index, { name }] of skills.entries()) {
        const first = skills.findIndex((skill) => skill.name === name);
        if (first === index || problems.length > before) continue;
        const message = `two skills are named "${name}": ${skills[first]?.folder} and ${skills[index]?.folder}; keep one`;
        problems.push({ code: 'INVALID_DEFINITION', path: placeOf(path, index), message });
      }
      if (skills.length > MOST_SKILLS) {
        const message = `are ${skills.length}; an agent has at most ${MOST_SKILLS}`;
        problems.push({ code: 'INVALID_DEFINITION', path: `${path}.skills`, message });
      }
      if (problems.length > before) return undefined;
      const own = { skills, tool: reader.tool(skills, { trusted }), catalogue: catalogueOf(skills) };
      made.set(agent, own);
      return own;
    },
  };
}

const placeOf = (path: string, index: number) => `${path}.skills[${index}]`;

function gather(agent: AgentDefinition, found: Set<string>, seen: Set<AgentDefinition>): void {
  const { skills, leader, children } = agent;
  if (skills !== undefined) for (const folder of skills) found.add(folder);
  if ((leader === undefined && children === undefined) || seen.has(agent)) return;
  seen.add(agent);
  if (leader !== undefined) gather(leader, found, seen);
  if (children !== undefined) for (const child of children) gather(child, found, seen);
}

/** One line for each, whatever stands in it; all of them together are kept to a length. */
function catalogueOf(skills: readonly Skill[]): string {
  const lines = skills.map(({ name, description }) => ({ name, said: visibleLine(description).replace(/\s+/g, ' ') }));
  const sum = lines.reduce((length, { said }) => length + said.length, 0);
  const most = sum <= MOST_CHARACTERS ? sum : Math.floor(MOST_CHARACTERS / lines.length);
  const listed = lines.map(({ name, said }) => `- ${name}: ${said.length > most ? `${cutText(said, most)}…` : said}`);
  return [
    'You have skills: instructions for certain tasks. When a task is one that a skill is for, call activate_skill with its name before you begin, and follow what it gives, within what you may do.',
    ...listed,
  ].join('\n');
}
