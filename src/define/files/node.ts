import type { AgentDefinition, JsonSchema } from '../../contracts/index.js';
import type { AgentOptions } from '../agent.js';
import type { AnyCompositionOptions } from '../composition.js';
import type { RawMap } from './raw.js';
import type { Section } from './section.js';

/** What files say, read and checked one by one, before anything is built from it. */
export type AgentNode = LeafNode | TeamNode | CodeNode;

/** Options of any agent that can stand in a file. */
export type FileAgentOptions = AgentOptions<string, JsonSchema, JsonSchema, string>;

export type Pattern = 'sequential' | 'parallel' | 'loop' | 'transfer' | 'hierarchical' | 'graph';
export const PATTERNS: readonly Pattern[] = ['sequential', 'parallel', 'loop', 'transfer', 'hierarchical', 'graph'];

export interface Origin {
  /** The map that stands for the agent, which is a whole file or a part of one. */
  readonly section: Section;
  /** Schemas that stand in files of their own, by option. */
  readonly schemas: ReadonlyMap<string, { readonly file: string; readonly map: RawMap }>;
}

export interface LeafNode {
  readonly type: 'agent';
  readonly name: string | undefined;
  readonly origin: Origin;
  /** False: problems were found in it, so it cannot be built. */
  readonly sound: boolean;
  readonly options: FileAgentOptions;
}

export interface TeamNode {
  readonly type: 'team';
  readonly name: string | undefined;
  readonly origin: Origin;
  readonly sound: boolean;
  readonly pattern: Pattern;
  readonly options: AnyCompositionOptions;
  /** What belongs to the pattern alone, save children and leader. */
  readonly own: Readonly<Record<string, unknown>>;
  /** Undefined where a child could not be read. */
  readonly children: readonly (AgentNode | undefined)[];
  readonly leader: AgentNode | undefined;
  /** Where the children stand in the file: the key, in camelCase. */
  readonly childrenKey: 'children' | 'members' | 'nodes';
  /** State keys that `until` or a guard asks for, and where. */
  readonly askedState: readonly AskedState[];
  readonly script: string | undefined;
}

export interface AskedState {
  readonly key: string;
  /** The way to it in the section of the team. */
  readonly steps: readonly (string | number)[];
}

/** A definition that a code file exports. */
export interface CodeNode {
  readonly type: 'code';
  readonly name: string;
  readonly file: string;
  readonly definition: AgentDefinition;
}
