import fc from 'fast-check';

/**
 * The seed of every property that sets none of its own: a run of the tests is the same on every machine. A property that
 * fails says its seed and the way to the case. `TROUPE_SEED=<n>` tries another one.
 */
const SEED = Number(process.env.TROUPE_SEED ?? 20_261_130);

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED });

export { fc };
