// Writes api/report.md, so that a change to the public surface shows in review. `npm run api`
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { readPublicSurface } from './public-surface.mjs';

export const reportFile = join(dirname(dirname(fileURLToPath(import.meta.url))), 'api', 'report.md');

const head = `# The public surface

What \`package.json\` exports, and every declaration of ours that those exports mention; comments are left out.
\`npm run api\` writes this file, the tests compare it: a difference here is a change for users.
`;

/**
 * The text of the report.
 * @param {ReturnType<typeof readPublicSurface>} surface
 */
export function apiReport({ entries, declarations }) {
  const parts = [head, '## Entry points\n'];
  for (const { specifier, exports } of entries) {
    const names = exports.map(({ name, file }) => `- \`${name}\` from ${file}\n`).join('');
    parts.push(`### ${specifier}\n`, names || 'Exports nothing.\n');
  }
  parts.push('## Declarations\n');
  for (const file of new Set(declarations.map((each) => each.file))) {
    const texts = declarations.filter((each) => each.file === file).map((each) => each.text);
    parts.push(`### ${file}\n`, `\`\`\`ts\n${texts.join('\n\n')}\n\`\`\`\n`);
  }
  return parts.join('\n');
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  mkdirSync(dirname(reportFile), { recursive: true });
  writeFileSync(reportFile, apiReport(readPublicSurface()));
  console.log('wrote api/report.md');
}
