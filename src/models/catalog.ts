import type {
  Clock,
  GenerationConfig,
  ModelAlias,
  ModelCandidate,
  ModelChoice,
  ModelFactory,
  ModelFallbacks,
  ModelInterface,
  ModelPrice,
  ModelStatus,
  ModelUsage,
  ResolvedModel,
  RouterStrategy,
} from '../contracts/index.js';
import { type Problem, TroupeError, throwProblems } from '../kernel/errors.js';
import { costOf } from '../kernel/price.js';
import { type AliasContext, type Aliases, createAliases } from './aliases.js';
import { type Availability, createAvailability } from './availability.js';
import { createFallbackChains, type FallbackChains } from './fallbacks.js';
import { createPriceTable, type PriceTable } from './prices.js';
import { type BuiltinProvider, createModelRegistry } from './registry.js';
import { strategiesOf } from './strategies.js';

export interface CatalogOptions {
  readonly models?: Readonly<Record<string, ModelInterface | ModelFactory>>;
  readonly aliases?: Readonly<Record<string, ModelAlias | string>>;
  readonly router?: RouterStrategy | RouterStrategy['route'] | readonly (RouterStrategy | RouterStrategy['route'])[];
  readonly prices?: Readonly<Record<string, ModelPrice>>;
  readonly fallbacks?: readonly string[] | Readonly<Record<string, readonly string[]>> | ModelFallbacks;
}

/**
 * All that a host knows of models: which there are, by which names, what stands in for what, how they are, what they
 * cost. Throws `INVALID_OPTION` with every fault of its options.
 */
export function createModelCatalog(
  options: CatalogOptions,
  builtins: Readonly<Record<string, BuiltinProvider>>,
  clock: Clock,
): ModelCatalog {
  const registry = createModelRegistry(options.models ?? {}, builtins);
  const aliases = createAliases(options.aliases);
  const fallbacks = createFallbackChains(options.fallbacks);
  assertKnown(registry, aliases, fallbacks);
  return new ModelCatalog(
    registry,
    aliases,
    fallbacks,
    createPriceTable(options.prices),
    createAvailability(clock),
    strategiesOf(options.router),
  );
}

type Registry = ReturnType<typeof createModelRegistry>;

/** A class: its first question is asked in every turn. */
export class ModelCatalog {
  constructor(
    private readonly registry: Registry,
    private readonly aliases: Aliases,
    private readonly chains: FallbackChains,
    private readonly prices: PriceTable,
    readonly health: Availability,
    readonly router: readonly RouterStrategy[],
  ) {}

  /** More than a name decides which model is asked. */
  get decides(): boolean {
    return !this.aliases.isEmpty || this.router.length > 0 || !this.chains.isEmpty || !this.health.isClear;
  }

  get consent(): 'silent' | 'ask' {
    return this.chains.consent;
  }

  fault(choice: ModelChoice | undefined): string | undefined {
    // Which one is the router's to say.
    if (choice === undefined && this.router.length > 0) return undefined;
    if (typeof choice !== 'string' || this.aliases.isEmpty) return this.registry.fault(choice);
    const isAlias = this.aliases.has(choice);
    for (const name of this.aliases.targets(choice)) {
      const fault = this.registry.fault(name);
      if (fault === undefined) continue;
      if (!isAlias) return this.#withAliases(fault);
      return name === choice ? `the alias "${choice}" names no model` : `the alias "${choice}": ${fault}`;
    }
    return undefined;
  }

  #withAliases = (fault: string) => `${fault}; aliases: ${this.aliases.names().join(', ')}`;

  resolve(choice: ModelChoice | undefined, context?: AliasContext): ResolvedModel | Promise<ResolvedModel> {
    if (typeof choice !== 'string' || this.aliases.isEmpty) return this.registry.resolve(choice);
    const { model, generation } = this.aliases.resolve(choice, context);
    return this.open({ choice: model, name: model, generation });
  }

  open({ choice, generation }: ModelCandidate): ResolvedModel | Promise<ResolvedModel> {
    const found = this.registry.resolve(choice);
    if (generation === undefined) return found;
    return found instanceof Promise
      ? found.then((model) => withGeneration(model, generation))
      : withGeneration(found, generation);
  }

  /** The model that is wanted, then those that stand in for it, in order; each model once. */
  candidates(choice: ModelChoice | undefined, context: AliasContext): ModelCandidate[] {
    const wanted = choice ?? this.registry.only();
    if (typeof wanted !== 'string') {
      const object: ModelCandidate = { choice: wanted as ModelInterface, name: undefined, generation: undefined };
      return [object, ...this.#named(this.chains.after(), context)];
    }
    const [first, ...rest] = this.#named([wanted], context);
    const others = this.chains.after(wanted, first?.name);
    return first === undefined ? rest : [first, ...this.#named(others, context, first.name)];
  }

  #named(names: readonly string[], context: AliasContext, without?: string): ModelCandidate[] {
    const seen = new Set([without]);
    return names.flatMap((given) => {
      const { model: name, generation } = this.aliases.resolve(given, context);
      if (seen.has(name)) return [];
      seen.add(name);
      return [{ choice: name, name, generation }];
    });
  }

  /** How a name is: a ban of an alias counts for what it stands for, too. */
  healthOf({ name }: ModelCandidate, asked?: ModelChoice): ReturnType<Availability['of']> {
    if (typeof asked === 'string' && asked !== name && this.health.of(asked).state === 'banned') {
      return this.health.of(asked);
    }
    return this.health.of(name ?? '');
  }

  price(name: string): ModelPrice | undefined {
    return this.prices.of(name);
  }

  /** In USD; undefined where the price or the tokens are not known. */
  cost(name: string | undefined, usage: ModelUsage): number | undefined {
    if (name === undefined || this.prices.isEmpty) return undefined;
    const price = this.prices.of(name);
    return price && costOf(price, usage, this.registry.opened(name)?.countsThoughtsAsOutput);
  }

  /** Every model that a choice may end with, as far as names tell. */
  reachable(choice: ModelChoice | undefined): ModelChoice[] {
    const wanted = choice ?? this.registry.only();
    if (typeof wanted !== 'string') {
      const others = this.chains.after().flatMap((name) => this.aliases.targets(name));
      return wanted === undefined ? others : [wanted, ...others];
    }
    const targets = this.aliases.targets(wanted);
    const others = [...targets, wanted].flatMap((name) => this.chains.after(name));
    return [...new Set([...targets, ...others.flatMap((name) => this.aliases.targets(name))])];
  }

  /** What a model says of its own cost, as far as it can be told without asking it anything. */
  reportsCost(choice: ModelChoice): boolean {
    const model = typeof choice === 'object' ? choice : this.registry.opened(choice);
    return model === undefined ? this.registry.mayReportCost(choice as string) : model.reportsCost !== undefined;
  }

  list(also: readonly string[] = []): ModelStatus[] {
    const { aliases, registry, chains, prices, health } = this;
    const sources = [aliases, registry, chains, prices, health].map((source) => source.names());
    return [...new Set([...also, ...sources.flat()])].map((name) => this.#status(name));
  }

  #status(name: string): ModelStatus {
    const { model } = this.aliases.resolve(name);
    const [candidate] = this.#named([name], {});
    const fault = this.fault(name);
    const price = this.prices.of(model);
    return {
      name,
      ...(this.aliases.has(name) && { model }),
      health: candidate === undefined ? this.health.of(name) : this.healthOf(candidate, name),
      ...(fault !== undefined && { fault }),
      ...(price !== undefined && { price }),
    };
  }

  setAlias(name: string, alias: ModelAlias | string | undefined): void {
    this.aliases.set(name, alias);
  }

  ban(name: string, reason?: string): void {
    this.#assertName(name);
    this.health.ban(name, reason);
  }

  allow(name: string): void {
    this.health.allow(name);
  }

  reset(name?: string): void {
    this.health.reset(name);
  }

  /** A ban of what is misspelt would hold nobody back. */
  #assertName(name: string): void {
    if (this.aliases.has(name) || this.registry.isKnown(name)) return;
    const message = this.registry.fault(name) ?? `no model "${name}"`;
    throw new TroupeError({ code: 'UNKNOWN_MODEL', message });
  }
}

const withGeneration = (model: ResolvedModel, generation: GenerationConfig): ResolvedModel => ({
  ...model,
  generation,
});

/** Names that lead nowhere are told when the host is made, not when a model fails. */
function assertKnown(registry: Registry, aliases: Aliases, fallbacks: FallbackChains): void {
  const problems: Problem[] = [];
  const check = (name: string, path: string) => {
    if (registry.isKnown(name) || (aliases.has(name) && !aliases.namesItself(name))) return;
    problems.push({ code: 'INVALID_OPTION', path, message: registry.fault(name) ?? `no model "${name}"` });
  };
  for (const alias of aliases.names()) {
    for (const target of aliases.targets(alias)) {
      if (target !== alias || aliases.namesItself(alias)) check(target, `aliases.${alias}`);
    }
  }
  for (const name of fallbacks.names()) check(name, 'fallbacks');
  throwProblems(problems, 'INVALID_OPTION');
}
