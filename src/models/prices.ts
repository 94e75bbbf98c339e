import type { ModelPrice } from '../contracts/index.js';
import { type Problem, throwProblems } from '../kernel/errors.js';
import { priceFault } from '../kernel/price.js';

/** Finds the price of a model by its full name. */
export interface PriceTable {
  /** No price is known. */
  readonly isEmpty: boolean;
  /** By `provider/name`, else by the name alone, else by `provider/*`. Undefined: not known. */
  of(name: string): ModelPrice | undefined;
  /** Those that name one model in full. */
  names(): string[];
}

/** Throws every fault of the table at once. It is copied. */
export function createPriceTable(given: Readonly<Record<string, ModelPrice>> = {}): PriceTable {
  const problems: Problem[] = [];
  const prices = new Map<string, ModelPrice>();
  for (const [name, price] of Object.entries(given)) {
    const fault = priceFault(price);
    if (fault !== undefined) problems.push({ code: 'INVALID_OPTION', path: `prices.${name}`, message: fault });
    else prices.set(name, { ...price });
  }
  throwProblems(problems, 'INVALID_OPTION');
  return {
    isEmpty: prices.size === 0,
    names: () => [...prices.keys()].filter((name) => name.includes('/') && !name.endsWith('/*')),
    of(name) {
      if (prices.size === 0) return undefined;
      const slash = name.indexOf('/');
      if (slash < 0) return prices.get(name) ?? prices.get(`${name}/*`);
      return prices.get(name) ?? prices.get(name.slice(slash + 1)) ?? prices.get(`${name.slice(0, slash)}/*`);
    },
  };
}
