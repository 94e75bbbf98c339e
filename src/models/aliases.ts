import type { GenerationConfig, ModelAlias, ModelOverride } from '../contracts/index.js';
import { type Problem, throwProblems } from '../kernel/errors.js';
import { mergeGeneration } from '../kernel/generation.js';
import { generationFaults } from '../kernel/generation-check.js';
import { didYouMean } from '../kernel/text.js';

/** The alias whose parameters a model without an alias of its own takes. */
const BASE = 'chat-base';

/** What overrides are chosen by. */
export interface AliasContext {
  readonly agent?: string | undefined;
  readonly purpose?: string | undefined;
  readonly retry?: boolean | undefined;
}

export interface ResolvedAlias {
  /** The name of a model, not of an alias. */
  readonly model: string;
  readonly generation: GenerationConfig | undefined;
}

export type GivenAlias = ModelAlias | string;

/** Names for models and their parameters. They may change at any time; what is resolved is as they stand then. */
export interface Aliases {
  /** None is set, so that every name stands for itself. */
  readonly isEmpty: boolean;
  has(name: string): boolean;
  names(): string[];
  /** A name that is no alias is a model, with the parameters of `chat-base`. */
  resolve(name: string, context?: AliasContext): ResolvedAlias;
  /** Every model that an alias may come to stand for, its overrides included. */
  targets(name: string): string[];
  /** It says that it means the model of its own name. */
  namesItself(name: string): boolean;
  /** Sets one, or takes it away with undefined. Throws `INVALID_OPTION`, and then nothing has changed. */
  set(name: string, alias: GivenAlias | undefined): void;
}

/** Throws every fault at once: what has another form, names that nothing extends, circles. */
export function createAliases(given: Readonly<Record<string, GivenAlias>> = {}): Aliases {
  let aliases = admitted(new Map(Object.entries(given)));

  const resolve = (name: string, context: AliasContext = {}, above: readonly string[] = []): ResolvedAlias => {
    const alias = aliases.get(name);
    if (alias === undefined) {
      const base = name === BASE ? undefined : aliases.get(BASE);
      return { model: name, generation: base && flatten(BASE, aliases, context).generation };
    }
    const { model = name, generation } = flatten(name, aliases, context);
    // By its own name an alias means the model of that name.
    if (model === name || above.includes(model) || !aliases.has(model)) return { model, generation };
    const below = resolve(model, context, [...above, name]);
    return { model: below.model, generation: mergeGeneration(below.generation, generation) };
  };

  return {
    get isEmpty() {
      return aliases.size === 0;
    },
    has: (name) => aliases.has(name),
    names: () => [...aliases.keys()],
    resolve,
    targets(name) {
      const found = new Set<string>();
      const seen = new Set<string>();
      const visit = (at: string) => {
        if (seen.has(at)) return;
        seen.add(at);
        if (!aliases.has(at)) return void found.add(at);
        const chain = lineage(at, aliases);
        const own = chain.findLast(({ model }) => model !== undefined)?.model ?? at;
        const others = chain.flatMap(({ overrides = [] }) => overrides.flatMap(({ model }) => model ?? []));
        for (const target of [own, ...others]) {
          if (target === at) found.add(at);
          else visit(target);
        }
      };
      visit(name);
      return [...found];
    },
    namesItself: (name) => lineage(name, aliases).some(({ model }) => model === name),
    set(name, alias) {
      const changed = new Map<string, GivenAlias>(aliases);
      if (alias === undefined) changed.delete(name);
      else changed.set(name, alias);
      aliases = admitted(changed);
    },
  };
}

/** From the farthest that it extends down to itself. */
function lineage(name: string, aliases: ReadonlyMap<string, ModelAlias>): ModelAlias[] {
  const chain: ModelAlias[] = [];
  for (let at: string | undefined = name; at !== undefined; ) {
    const alias: ModelAlias = aliases.get(at) ?? {};
    chain.unshift(alias);
    at = alias.extends;
  }
  return chain;
}

function flatten(
  name: string,
  aliases: ReadonlyMap<string, ModelAlias>,
  context: AliasContext,
): { model: string | undefined; generation: GenerationConfig | undefined } {
  let model: string | undefined;
  let generation: GenerationConfig | undefined;
  const overrides: ModelOverride[] = [];
  for (const alias of lineage(name, aliases)) {
    model = alias.model ?? model;
    generation = mergeGeneration(generation, alias.generation);
    overrides.push(...(alias.overrides ?? []));
  }
  const fitting = overrides.filter(({ when }) => fits(when, context));
  // Stable: of equally specific ones the last counts.
  fitting.sort((one, other) => specificity(one) - specificity(other));
  for (const override of fitting) {
    model = override.model ?? model;
    generation = mergeGeneration(generation, override.generation);
  }
  return { model, generation };
}

const conditions = (when: ModelOverride['when']) => Object.entries(when).filter(([, value]) => value !== undefined);
const specificity = ({ when }: ModelOverride) => conditions(when).length;
const fits = (when: ModelOverride['when'], context: AliasContext) =>
  conditions(when).every(([key, value]) =>
    key === 'retry' ? value === (context.retry ?? false) : value === context[key as 'agent' | 'purpose'],
  );

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The same names with their aliases in full. Throws what is wrong with them. */
function admitted(given: ReadonlyMap<string, GivenAlias>): Map<string, ModelAlias> {
  const problems: Problem[] = [];
  const aliases = new Map<string, ModelAlias>();
  for (const [name, alias] of given) {
    const full = typeof alias === 'string' ? { model: alias } : alias;
    const fault = name === '' ? 'an alias needs a name' : aliasFault(full);
    if (fault !== undefined) problems.push(problem(name, fault));
    else aliases.set(name, full);
  }
  for (const [name, alias] of aliases) {
    if (alias.extends !== undefined && !given.has(alias.extends)) {
      const names = [...given.keys()].filter((one) => one !== name);
      problems.push(problem(name, `extends "${alias.extends}", which is no alias${didYouMean(alias.extends, names)}`));
    }
  }
  if (problems.length === 0) {
    for (const name of aliases.keys()) {
      const circle = circleFrom(name, aliases);
      if (circle !== undefined) problems.push(problem(name, `goes in a circle: ${circle.join(' → ')}`));
    }
  }
  throwProblems(problems, 'INVALID_OPTION');
  return aliases;
}

const problem = (name: string, message: string): Problem => ({
  code: 'INVALID_OPTION',
  path: `aliases.${name}`,
  message,
});

/** The way from an alias back to itself; undefined where there is none. Being one's own model is no circle. */
function circleFrom(start: string, aliases: ReadonlyMap<string, ModelAlias>): string[] | undefined {
  const visit = (name: string, way: readonly string[]): string[] | undefined => {
    if (way.length > 0 && name === start) return [...way, name];
    const alias = aliases.get(name);
    if (alias === undefined || way.includes(name)) return undefined;
    const { model, overrides = [] } = alias;
    const models = [model, ...overrides.map((override) => override.model)].filter((next) => next !== name);
    for (const next of [alias.extends, ...models]) {
      const circle = next === undefined ? undefined : visit(next, [...way, name]);
      if (circle !== undefined) return circle;
    }
    return undefined;
  };
  return visit(start, []);
}

const ALIAS_KEYS = ['extends', 'model', 'generation', 'overrides'];
const OVERRIDE_KEYS = ['when', 'model', 'generation'];
const WHEN: Readonly<Record<string, string>> = { agent: 'string', purpose: 'string', retry: 'boolean' };

function aliasFault(alias: unknown): string | undefined {
  if (!isPlain(alias)) return 'must be the name of a model, or { extends?, model?, generation?, overrides? }';
  const fault = partFault(alias, ALIAS_KEYS);
  if (fault !== undefined) return fault;
  if (alias.extends !== undefined && typeof alias.extends !== 'string') return 'extends must be the name of an alias';
  const { overrides = [] } = alias;
  if (!Array.isArray(overrides)) return 'overrides must be a list of { when, model?, generation? }';
  for (const [at, override] of overrides.entries()) {
    const wrong = overrideFault(override);
    if (wrong !== undefined) return `overrides[${at}]: ${wrong}`;
  }
  return undefined;
}

function overrideFault(override: unknown): string | undefined {
  if (!isPlain(override) || !isPlain(override.when)) return 'must be { when: { agent?, purpose?, retry? }, … }';
  for (const [key, value] of Object.entries(override.when)) {
    const type = WHEN[key];
    if (type === undefined) return `no condition "${key}"; conditions: ${Object.keys(WHEN).join(', ')}`;
    if (value !== undefined && typeof value !== type) return `when.${key} must be a ${type}`;
  }
  return partFault(override, OVERRIDE_KEYS);
}

function partFault(part: Record<string, unknown>, keys: readonly string[]): string | undefined {
  const unknown = Object.keys(part).find((key) => !keys.includes(key));
  if (unknown !== undefined) return `no "${unknown}"${didYouMean(unknown, keys)}; it has ${keys.join(', ')}`;
  if (part.model !== undefined && (typeof part.model !== 'string' || part.model === ''))
    return 'model must be the name of a model';
  const [wrong] = part.generation === undefined ? [] : generationFaults(part.generation);
  return wrong && `generation${wrong.key === '' ? '' : `.${wrong.key}`} ${wrong.message}`;
}
