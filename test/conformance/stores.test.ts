import { describe, test } from 'vitest';
import { memoryStore } from '../../src/stores/memory.js';
import { storeCases } from '../../src/testing/index.js';

describe('memory', () => {
  for (const one of storeCases) test(one.name, () => one.run(memoryStore));
});
