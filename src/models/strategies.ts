import type { RouterStrategy } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';

type Given = RouterStrategy | RouterStrategy['route'];

/** The chain of a router in full: a function alone is a strategy, named after itself. Throws `INVALID_OPTION`. */
export function strategiesOf(router: Given | readonly Given[] = []): readonly RouterStrategy[] {
  const given = Array.isArray(router) ? (router as readonly Given[]) : [router as Given];
  return given.map((strategy, at): RouterStrategy => {
    if (typeof strategy === 'function') return { name: strategy.name || `strategy ${at + 1}`, route: strategy };
    if (typeof strategy?.name === 'string' && typeof strategy.route === 'function') return strategy;
    throw new TroupeError({
      code: 'INVALID_OPTION',
      message: `router[${at}] must be a function (request) → model, or { name, route }`,
    });
  });
}
