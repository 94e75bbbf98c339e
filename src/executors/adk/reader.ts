import type { BaseAgent, BaseNode, BasePlugin, BaseTool, BaseToolset, ReadonlyContext } from '@google/adk';
import type { AgentDefinition, BackendReader } from '../../contracts/index.js';
import { describeError, TroupeError } from '../../kernel/errors.js';
import type { AdkBackend } from './backend.js';
import { isAdkNode } from './brands.js';
import { loadAdk } from './load.js';
import { type AdkCompose, translateTree } from './tree.js';

/** Reads agents of ADK for one host: tools, schemas, and the agents below them, as definitions. */
export function adkReader(compose: AdkCompose): BackendReader {
  const known = new WeakMap<AgentDefinition, Backend>();
  const opened = new Set<Backend>();
  return {
    read(definition) {
      let backend = known.get(definition);
      if (backend === undefined) {
        backend = new Backend(definition, compose);
        known.set(definition, backend);
      }
      if (backend.isComplete) return { definition: backend.definition };
      const complete = () => {
        opened.add(backend);
        return backend.complete();
      };
      return { definition: backend.definition, complete };
    },
    async close() {
      await Promise.all([...opened].map((backend) => backend.close()));
    },
  };
}

/** ADK takes no name twice. */
function pluginsOf(agent: string, given: unknown): readonly BasePlugin[] {
  const isPlugin = (one: unknown): one is BasePlugin =>
    typeof one === 'object' && one !== null && 'name' in one && 'beforeModelCallback' in one;
  const isList = Array.isArray(given) && given.every(isPlugin);
  if (isList && new Set(given.map(({ name }) => name)).size === given.length) return [...given];
  const message = isList
    ? `${agent}: backend.plugins has a name twice`
    : `${agent}: backend.plugins must be a list of plugins of @google/adk`;
  throw new TroupeError({ code: 'INVALID_DEFINITION', message });
}

/** What an agent says of itself is its own code: where that throws, the definition cannot be read. */
function readable<T>(agent: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof TroupeError) throw thrown;
    const message = `${agent}: its agent of @google/adk cannot be read: ${describeError(thrown).message}`;
    throw new TroupeError({ code: 'INVALID_DEFINITION', message, cause: thrown });
  }
}

class Backend {
  definition: AgentDefinition;
  isComplete = false;
  readonly #make: (() => unknown) | undefined;
  readonly #plugins: readonly BasePlugin[];
  #root: BaseNode | BaseAgent | undefined;
  #toolsets: readonly BaseToolset[] = [];
  #completing: Promise<void> | undefined;

  constructor(
    private readonly given: AgentDefinition,
    private readonly compose: AdkCompose,
  ) {
    this.definition = given;
    const { agent, plugins = [] } = (given.backend ?? {}) as Partial<AdkBackend>;
    this.#plugins = pluginsOf(given.name, plugins);
    if (typeof agent === 'function') this.#make = agent as () => unknown;
    else this.#take(agent);
  }

  #take(agent: unknown): void {
    if (!isAdkNode(agent)) {
      const message = `${this.given.name}: backend.agent is no agent of @google/adk, and no function that makes one`;
      throw new TroupeError({ code: 'INVALID_DEFINITION', message });
    }
    this.#root = agent;
    this.#translate(new Map());
    this.isComplete = this.#toolsets.length === 0;
  }

  #translate(found: ReadonlyMap<BaseToolset, readonly BaseTool[]>): void {
    const { given, compose } = this;
    const root = this.#root as BaseNode | BaseAgent;
    const options = { compose, make: this.#make, plugins: this.#plugins, found };
    const { definition, toolsets } = readable(given.name, () => translateTree(given, root, options));
    this.definition = definition;
    this.#toolsets = toolsets;
  }

  /** Asks the factory and the toolsets; what fails is asked again by the next run. */
  complete(): Promise<void> {
    this.#completing ??= this.#find().catch((thrown: unknown) => {
      this.#completing = undefined;
      throw thrown;
    });
    return this.#completing;
  }

  async #find(): Promise<void> {
    // Where ADK is not installed, a factory that imports it is told as what it is.
    const { quieten } = await loadAdk(() => import('./quiet.js'));
    quieten();
    if (this.#root === undefined) this.#take(await loadAdk(async () => (this.#make as () => unknown)()));
    if (this.isComplete) return;
    const found = new Map<BaseToolset, readonly BaseTool[]>();
    for (const toolset of this.#toolsets) {
      try {
        found.set(toolset, await toolset.getTools(undefined as unknown as ReadonlyContext));
      } catch (thrown) {
        const message = `${this.given.name}: a toolset of its agent cannot be opened: ${describeError(thrown).message}`;
        throw new TroupeError({ code: 'UNKNOWN_TOOL', message, cause: thrown });
      }
    }
    this.#translate(found);
    this.isComplete = true;
  }

  async close(): Promise<void> {
    for (const toolset of this.#toolsets) {
      try {
        await toolset.close();
      } catch {
        // It is the agent's own: what it cannot close is its own, too.
      }
    }
  }
}
