import type { ModelFactory, ModelInterface, ResolvedModel } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { didYouMean } from '../kernel/text.js';

/** A provider that comes with the package: made when first used, so that its SDK is loaded only then. */
export interface BuiltinProvider {
  /** Any one of these environment variables makes it usable. */
  readonly variables: readonly string[];
  /** Its answers say what they cost. */
  readonly reportsCost?: boolean;
  readonly open: ModelFactory;
}

type Choice = string | ModelInterface | undefined;
type Given = Readonly<Record<string, ModelInterface | ModelFactory>>;

/** Finds models: `provider/name`, the bare name of a provider, or a model object as it is. One object per name. */
export function createModelRegistry(
  given: Given,
  builtins: Readonly<Record<string, BuiltinProvider>>,
): {
  fault(choice: Choice): string | undefined;
  resolve(choice: Choice): ResolvedModel | Promise<ResolvedModel>;
  /** The one model of the host's own that stands for no choice; undefined: there is none, or several. */
  only(): string | undefined;
  /** Its provider is known, whatever may be missing to use it. */
  isKnown(name: string): boolean;
  /** The model of a name, where it is there without opening it. */
  opened(name: string): ModelInterface | undefined;
  /** Of a model that is not open yet. */
  mayReportCost(name: string): boolean;
  /** Names that can be said of models without asking a provider: those opened, and those given as they are. */
  names(): string[];
} {
  const resolved = new Map<string, ResolvedModel>();
  /** Several agents may ask for a model before it is there. */
  const opening = new Map<string, Promise<ResolvedModel>>();
  const objects = new WeakMap<ModelInterface, ResolvedModel>();
  const providers = [...new Set([...Object.keys(given), ...Object.keys(builtins)])];

  const only = (): string | undefined => {
    const own = Object.keys(given);
    return own.length === 1 ? own[0] : undefined;
  };

  const ownOf = (name: string) => {
    const { provider } = split(name);
    return Object.hasOwn(given, provider) ? given[provider] : undefined;
  };

  const fault = (choice: Choice): string | undefined => {
    if (typeof choice === 'object')
      return isModel(choice) ? undefined : 'a model object has generate() and generateStream()';
    const name: unknown = choice ?? only();
    if (name === undefined) {
      return 'no model is chosen: set `model` on the agent, or pass one with the run (such as "gemini/gemini-flash-latest")';
    }
    if (typeof name !== 'string') return 'a model is a name, such as "gemini/gemini-flash-latest", or a model object';
    const { provider, rest } = split(name);
    if (ownOf(name) !== undefined) return undefined;
    const builtin = Object.hasOwn(builtins, provider) ? builtins[provider] : undefined;
    if (builtin === undefined) {
      return `no model "${name}"${didYouMean(provider, providers)}; providers: ${providers.join(', ')} (as provider/name)`;
    }
    if (rest === '') return `"${name}" names a provider only: say which of its models, as in "${provider}/…"`;
    if (builtin.variables.some((variable) => process.env[variable])) return undefined;
    return `model "${name}" needs ${builtin.variables.join(' or ')} in the environment`;
  };

  const open = async (name: string): Promise<ResolvedModel> => {
    const { provider, rest } = split(name);
    const made = ownOf(name) ?? builtins[provider]?.open;
    if (made === undefined)
      throw new TroupeError({
        code: 'UNKNOWN_MODEL',
        message: fault(name === '' ? undefined : name) ?? `no model "${name}"`,
      });
    const model = typeof made === 'function' ? await made(rest) : made;
    const found = { name, provider, model };
    resolved.set(name, found);
    return found;
  };

  return {
    fault,
    only,
    isKnown(name) {
      const { provider, rest } = split(name);
      return Object.hasOwn(given, provider) || (rest !== '' && Object.hasOwn(builtins, provider));
    },
    opened(name) {
      const own = ownOf(name);
      return resolved.get(name)?.model ?? (typeof own === 'object' ? own : undefined);
    },
    mayReportCost(name) {
      const { provider } = split(name);
      return ownOf(name) === undefined && Object.hasOwn(builtins, provider) && builtins[provider]?.reportsCost === true;
    },
    names() {
      const asTheyAre = Object.entries(given).flatMap(([name, own]) => (typeof own === 'object' ? [name] : []));
      return [...new Set([...asTheyAre, ...resolved.keys()])];
    },
    resolve(choice) {
      if (typeof choice === 'object') {
        let found = objects.get(choice);
        if (found === undefined) {
          found = { name: 'custom', provider: 'custom', model: choice };
          objects.set(choice, found);
        }
        return found;
      }
      const name = choice ?? only() ?? '';
      const known = resolved.get(name);
      if (known !== undefined) return known;
      const { provider } = split(name);
      const own = ownOf(name);
      if (typeof own !== 'object') {
        const underway = opening.get(name) ?? open(name).finally(() => opening.delete(name));
        opening.set(name, underway);
        return underway;
      }
      const found = { name, provider, model: own };
      resolved.set(name, found);
      return found;
    },
  };
}

const isModel = (model: ModelInterface) =>
  typeof model?.generate === 'function' && typeof model.generateStream === 'function';

function split(name: string): { provider: string; rest: string } {
  const at = name.indexOf('/');
  return at < 0 ? { provider: name, rest: '' } : { provider: name.slice(0, at), rest: name.slice(at + 1) };
}
