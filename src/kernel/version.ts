/** Semver of the whole interface layer. */
export const INTERFACE_VERSION = '1.0.0';

export type Compatibility = { compatible: true } | { compatible: false; reason: string };

const SEMVER = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/**
 * Whether an agent written against `agent` runs on a host of `host`: same major, and the agent's minor is not newer.
 * A malformed version is incompatible.
 */
export function isCompatible(agent: string, host: string = INTERFACE_VERSION): Compatibility {
  const asked = SEMVER.exec(agent);
  if (!asked) return { compatible: false, reason: `"${agent}" is no semantic version (such as ${INTERFACE_VERSION})` };
  const offered = SEMVER.exec(host);
  if (!offered) return { compatible: false, reason: `"${host}" is no semantic version (such as ${INTERFACE_VERSION})` };
  if (asked[1] !== offered[1]) {
    return { compatible: false, reason: `interface ${agent} has another major version than the host's ${host}` };
  }
  if (Number(asked[2]) > Number(offered[2])) {
    return { compatible: false, reason: `interface ${agent} is newer than the host's ${host}` };
  }
  return { compatible: true };
}

const PARTIAL = /^(\d+)(?:\.(\d+|[x*]))?(?:\.(\d+|[x*]))?$/;

/**
 * Whether a version lies in a range: `1.2.3`, `1.2` or `1.x` (all of it), `^1.2.0`, `~1.2.0`, `>=1.0.0 <3.0.0` (all of
 * them), `1.0.0 || ^2.1.0` (any of them). What is no version or no range never does.
 */
export function satisfies(version: string, range: string): boolean {
  const found = SEMVER.exec(version);
  if (found === null) return false;
  const at = [Number(found[1]), Number(found[2]), Number(found[3])];
  return range.split('||').some((all) => {
    const terms = all.trim().split(/\s+/);
    return terms[0] !== '' && terms.every((term) => meets(at, term));
  });
}

function meets(at: readonly number[], term: string): boolean {
  if (term === '*') return true;
  const [, operator = '', text = ''] = /^(\^|~|>=|<=|>|<|=)?(.*)$/.exec(term) ?? [];
  const found = PARTIAL.exec(text);
  if (found === null) return false;
  const given = found.slice(1).filter((part) => part !== undefined && /^\d+$/.test(part));
  const low = [0, 1, 2].map((place) => Number(given[place] ?? 0));
  // The first place that must not change, counted from the left.
  const fixed =
    operator === '^'
      ? Math.max(
          0,
          low.findIndex((part) => part > 0),
        )
      : operator === '~'
        ? 1
        : given.length - 1;
  const isBelow = compare(at, low) < 0;
  switch (operator) {
    case '>=':
      return !isBelow;
    case '<':
      return isBelow;
    case '>':
      return compare(at.slice(0, given.length), low.slice(0, given.length)) > 0;
    case '<=':
      return compare(at.slice(0, given.length), low.slice(0, given.length)) <= 0;
    default:
      return !isBelow && low.slice(0, fixed + 1).every((part, place) => at[place] === part);
  }
}

function compare(one: readonly number[], other: readonly number[]): number {
  for (let place = 0; place < one.length; place++) {
    const difference = (one[place] as number) - (other[place] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}
