import { shortHash } from './text.js';

/** What every provider takes: a letter or underscore first, 64 characters. */
const ALLOWED = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const LONGEST = 64;

export interface WireNames {
  /** The name as the provider sees it; the same for the same name. */
  out(name: string): string;
  /** Our name for what the provider said; a name it made up stays as it is. */
  back(wireName: string): string;
}

/**
 * Tool names of one request, one to one. Names that every provider takes stay as they are; in the others what is not
 * allowed becomes `_`, and a hash tells apart what would fall together. `names` are known beforehand, in any order.
 */
export function createWireNames(names: Iterable<string>): WireNames {
  const toWire = new Map<string, string>();
  const fromWire = new Map<string, string>();

  const pair = (name: string, wireName: string): string => {
    toWire.set(name, wireName);
    fromWire.set(wireName, name);
    return wireName;
  };

  const out = (name: string): string => {
    const known = toWire.get(name);
    if (known !== undefined) return known;
    for (let attempt = 0; ; attempt++) {
      const wireName = spell(name, attempt);
      if (!fromWire.has(wireName)) return pair(name, wireName);
    }
  };

  const all = [...new Set(names)];
  // Those first that need no change, so that no other name takes theirs.
  for (const name of all) if (ALLOWED.test(name)) pair(name, name);
  for (const name of all) out(name);
  return { out, back: (wireName) => fromWire.get(wireName) ?? wireName };
}

function spell(name: string, attempt: number): string {
  if (attempt === 0 && ALLOWED.test(name)) return name;
  const bare = name.replace(/[^A-Za-z0-9_-]/g, '_').replace(/^(?![A-Za-z_])/, '_');
  if (attempt === 0 && bare.length <= LONGEST) return bare;
  const mark = `_${shortHash(`${name}${attempt > 1 ? attempt : ''}`)}`;
  return bare.slice(0, LONGEST - mark.length) + mark;
}
