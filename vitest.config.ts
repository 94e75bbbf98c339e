import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Test files in the order of their paths, on every machine and in every run. */
class ByPath extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1));
  }
}

export default defineConfig({
  test: {
    // Not threads: tests that change the user, the signals or the folder of their process need one of their own.
    pool: 'forks',
    sequence: { sequencer: ByPath },
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: ['test/package/**'] },
      },
      {
        // These look at dist, as `npm run build` left it.
        extends: true,
        test: { name: 'package', include: ['test/package/**/*.test.ts'] },
      },
    ],
    environment: 'node',
    globals: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
