import type { BaseAgent, BaseNode, BasePlugin, BaseTool, BaseToolset, LlmAgent } from '@google/adk';
import type { AgentDefinition } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import { isDefaultInputSchema } from '../../kernel/schema.js';
import { AdkBinding } from './binding.js';
import { isAdkAgent, isAdkAgentTool, isAdkLlmAgent, isAdkNode, isAdkTool, isAdkToolset, sortAgent } from './brands.js';
import { emptyDefinition, llmDefinition, opaqueDefinition } from './leaf.js';

/** What every composition of a translated tree is made with. */
interface Composed {
  name: string;
  description?: string;
  metadata: { translatedFrom: string };
  outputKey?: string;
  constraints?: AgentDefinition['descriptor']['constraints'];
  mapInput?: (child: string, context: InputContext) => unknown;
}

interface InputContext {
  readonly input: unknown;
  readonly results: Readonly<Record<string, unknown>>;
}

/** The host's own compositions, by what ADK's containers become. */
export interface AdkCompose {
  sequential(options: Composed & { children: AgentDefinition[] }): AgentDefinition;
  parallel(options: Composed & { children: AgentDefinition[] }): AgentDefinition;
  loop(options: Composed & { children: AgentDefinition[]; maxIterations: number }): AgentDefinition;
  transfer(
    options: Composed & { members: AgentDefinition[]; start: string; targets: Record<string, string[]> },
  ): AgentDefinition;
  hierarchical(options: Composed & { agent: AgentDefinition; children: AgentDefinition[] }): AgentDefinition;
}

export interface TreeOptions {
  readonly compose: AdkCompose;
  readonly make: (() => unknown) | undefined;
  readonly plugins: readonly BasePlugin[];
  /** Tools of the toolsets that have been asked. */
  readonly found: ReadonlyMap<BaseToolset, readonly BaseTool[]>;
}

/** ADK's loops go on until somebody escalates; ours have an end. */
const MOST_ITERATIONS = 1_000;

/**
 * A tree of ADK agents as a definition: containers become our compositions, agents that hand over a transfer, agents
 * that are called as tools children of a leader. `given` says how the whole is called and what else was asked for.
 * Throws `INVALID_DEFINITION` for what no definition can say.
 */
export function translateTree(
  given: AgentDefinition,
  root: BaseNode | BaseAgent,
  options: TreeOptions,
): { definition: AgentDefinition; toolsets: readonly BaseToolset[] } {
  const tree = new Translation(given, options);
  return { definition: tree.root(root), toolsets: tree.toolsets };
}

class Translation {
  readonly toolsets: BaseToolset[] = [];
  readonly #taken = new Set<string>();
  readonly #named = new Map<object, string>();

  constructor(
    private readonly given: AgentDefinition,
    private readonly options: TreeOptions,
  ) {
    this.#taken.add(given.name);
  }

  root(root: BaseNode | BaseAgent): AgentDefinition {
    const { given } = this;
    this.#named.set(root, given.name);
    const { kind } = sortAgent(root);
    if (kind !== 'llm' && kind !== 'opaque' && given.tools.length > 0) {
      const message = `${given.name}: a ${root.constructor.name} calls no tools; give them to an agent below it`;
      throw new TroupeError({ code: 'INVALID_DEFINITION', message });
    }
    return this.#define(root, given);
  }

  /** The agent by itself, with those that it calls; and, where it may hand over, with those that it hands over to. */
  #define(agent: BaseNode | BaseAgent, given: AgentDefinition): AgentDefinition {
    const sorted = sortAgent(agent);
    const { compose } = this.options;
    switch (sorted.kind) {
      case 'llm':
        return sorted.agent.subAgents.length > 0
          ? this.#transfer(sorted.agent, given)
          : this.#single(sorted.agent, given, []);
      case 'sequential':
        return compose.sequential({
          ...this.#container(sorted.agent, given, true),
          children: this.#below(sorted.agent),
        });
      case 'parallel':
        return compose.parallel({
          ...this.#container(sorted.agent, given, false),
          children: this.#below(sorted.agent),
        });
      case 'loop': {
        const maxIterations = Math.min(sorted.agent.maxIterations, MOST_ITERATIONS);
        return compose.loop({
          ...this.#container(sorted.agent, given, true),
          children: this.#below(sorted.agent),
          maxIterations,
        });
      }
      case 'opaque':
        return opaqueDefinition(
          given,
          agent,
          agent === this.#rootAgent() ? this.options.make : undefined,
          this.options.plugins,
        );
      default:
        return sorted satisfies never;
    }
  }

  #rootAgent(): object | undefined {
    return [...this.#named.keys()][0];
  }

  #below(agent: BaseAgent): AgentDefinition[] {
    return agent.subAgents.map((child) => this.#child(child));
  }

  #child(agent: BaseNode | BaseAgent): AgentDefinition {
    return this.#define(agent, this.#blank(agent));
  }

  /** A definition for an agent below the root: what was asked for the whole holds for it too. */
  #blank(agent: BaseNode | BaseAgent): AgentDefinition {
    const { model, generation } = this.given;
    return {
      ...emptyDefinition(this.#name(agent), agent.description),
      ...(model !== undefined && { model }),
      ...(generation !== undefined && { generation }),
    };
  }

  /** Unique in the tree: ADK takes the same name twice, and letters that no name here has. */
  #name(agent: BaseNode | BaseAgent): string {
    const known = this.#named.get(agent);
    if (known !== undefined) return known;
    const name = this.#free(agent.name);
    this.#named.set(agent, name);
    return name;
  }

  #free(adkName: string): string {
    const bare = adkName.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 60) || 'agent';
    let name = bare;
    for (let ordinal = 2; this.#isTaken(name); ordinal++) name = `${bare}_${ordinal}`;
    this.#taken.add(name);
    return name;
  }

  #isTaken(name: string): boolean {
    const fold = (one: string) => one.toLowerCase().replace(/[_-]+/g, '_');
    return [...this.#taken].some((one) => fold(one) === fold(name));
  }

  #container(agent: BaseAgent, given: AgentDefinition, inOrder: boolean): Composed {
    const { outputKey } = given;
    const { constraints } = given.descriptor;
    const description = given.descriptor.description === given.name ? agent.description : given.descriptor.description;
    return {
      name: given.name,
      metadata: { translatedFrom: `@google/adk ${agent.constructor.name}` },
      ...(description && { description }),
      ...(outputKey !== undefined && { outputKey }),
      ...(constraints !== undefined && { constraints }),
      ...(inOrder && { mapInput: this.#conversation(agent) }),
    };
  }

  /** In ADK all in a row see what was asked and what each of them said; who takes no contents sees the last only. */
  #conversation(agent: BaseAgent): NonNullable<Composed['mapInput']> {
    const alone = new Set(
      agent.subAgents
        .filter(isAdkLlmAgent)
        .filter(takesNoConversation)
        .map((one) => this.#name(one)),
    );
    return (child, { input, results }) => {
      const said = Object.entries(results).map(([name, result]) => `[${name}] said: ${asText(result)}`);
      if (said.length === 0 || typeof input !== 'string' || alone.has(child)) return undefined;
      return `${input}\n\nFor context:\n${said.join('\n')}`;
    };
  }

  /** One agent; as the leader of those that it has as tools. */
  #single(agent: LlmAgent, given: AgentDefinition, targets: readonly BaseAgent[]): AgentDefinition {
    const called: AgentDefinition[] = [];
    const ends = new Set<string>();
    const tools: BaseTool[] = [];
    for (const tool of agent.tools) {
      if (isAdkAgentTool(tool)) {
        const { agent: below, skipSummarization } = tool as unknown as { agent: BaseAgent; skipSummarization: boolean };
        const child = this.#child(below);
        called.push(child);
        if (skipSummarization) ends.add(child.name);
      } else if (isAdkTool(tool)) tools.push(tool);
      else if (isAdkToolset(tool)) {
        this.toolsets.push(tool);
        tools.push(...(this.options.found.get(tool) ?? []));
      } else if (isAdkNode(tool)) called.push(this.#child(tool));
    }
    const names = new Map(targets.map((target) => [target.name, this.#name(target)]));
    const make = agent === this.#rootAgent() ? this.options.make : undefined;
    const agents = new Set(
      called.filter(({ descriptor }) => isDefaultInputSchema(descriptor.inputSchema)).map(({ name }) => name),
    );
    const binding = new AdkBinding(agent, { make, names, ends, agents, plugins: this.options.plugins });
    const definition = llmDefinition(given, binding, tools, targets.length > 0 ? this.#note(targets) : undefined);
    if (called.length === 0) return definition;
    const { outputKey } = definition;
    const { constraints, description } = definition.descriptor;
    return this.options.compose.hierarchical({
      name: given.name,
      description,
      metadata: { translatedFrom: '@google/adk AgentTool' },
      ...(outputKey !== undefined && { outputKey }),
      ...(constraints !== undefined && { constraints }),
      agent: definition,
      children: called,
    });
  }

  #note(targets: readonly BaseAgent[]): string {
    const list = targets.map((target) => `- ${this.#name(target)}: ${target.description || 'no description'}`);
    return `If another agent is better for answering, hand the conversation over with transfer_to_agent:\n${list.join('\n')}`;
  }

  /** An agent and all that it can hand over to, one active at a time. */
  #transfer(agent: LlmAgent, given: AgentDefinition): AgentDefinition {
    const { name, descriptor } = given;
    // Among themselves they go by the names that ADK knows.
    if (agent.name !== name && agent === this.#rootAgent()) this.#named.set(agent, this.#free(agent.name));
    const start = this.#name(agent);
    const first = { ...given, outputKey: undefined, name: start, descriptor: { ...descriptor, name: start } };
    const members: BaseAgent[] = [];
    const add = (one: BaseAgent) => {
      members.push(one);
      const { kind } = sortAgent(one);
      if (kind === 'llm') for (const sub of one.subAgents) add(sub);
    };
    add(agent);
    const targets: Record<string, string[]> = {};
    const definitions = members.map((member) => {
      const own = member === agent ? first : this.#blank(member);
      if (sortAgent(member).kind !== 'llm') return this.#define(member, own);
      const permitted = targetsOf(member as LlmAgent).filter((target) => members.includes(target));
      targets[own.name] = permitted.map((target) => this.#name(target));
      return this.#single(member as LlmAgent, own, permitted);
    });
    return this.options.compose.transfer({
      ...this.#container(agent, given, false),
      metadata: { translatedFrom: '@google/adk sub-agents' },
      members: definitions,
      start,
      targets,
    });
  }
}

const takesNoConversation = ({ includeContents }: LlmAgent): boolean => includeContents === 'none';

const asText = (result: unknown): string => (typeof result === 'string' ? result : JSON.stringify(result));

/** Whom ADK lets an agent hand over to: those below it, then the one above it and its other children. */
function targetsOf(agent: LlmAgent): BaseAgent[] {
  const targets = [...agent.subAgents];
  const { parentAgent } = agent;
  if (!isAdkLlmAgent(parentAgent)) return targets;
  if (!agent.disallowTransferToParent) targets.push(parentAgent);
  if (!agent.disallowTransferToPeers) {
    targets.push(...parentAgent.subAgents.filter((peer) => isAdkAgent(peer) && peer.name !== agent.name));
  }
  return targets;
}
