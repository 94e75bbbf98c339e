import type { SessionProvider } from '../../src/contracts/index.js';
import { memoryStore } from '../../src/index.js';
import { slowStore } from './slow-store.js';

/** What holds with a store that answers at once must hold with one that takes its time. */
export const stores: readonly [name: string, make: () => SessionProvider][] = [
  ['a store that answers at once', memoryStore],
  ['a store that takes its time', slowStore],
];
