import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { fileStore } from '../../src/stores/file.js';
import { memoryStore } from '../../src/stores/memory.js';
import { storeCases } from '../../src/testing/index.js';

describe('memory', () => {
  for (const one of storeCases) test(one.name, () => one.run(memoryStore));
});

describe('files', () => {
  const made: string[] = [];
  const make = async () => {
    const dir = await mkdtemp(join(tmpdir(), 'troupe-store-'));
    made.push(dir);
    return fileStore({ dir });
  };
  afterAll(() => Promise.all(made.map((dir) => rm(dir, { recursive: true }))));
  for (const one of storeCases) test(one.name, () => one.run(make));
});
