// Simulates the whole host under faults and crashes, seed by seed: `npm run sim -- --seeds 10000 --from 1`; `--seed <n>`
// replays one and prints what happened. Exits with 1 where something did not hold.
import process from 'node:process';
import { createJiti } from 'jiti';

const jiti = createJiti(import.meta.url);
/** @type {typeof import('../test/sim/command.js')} */
const { runCommand } = await jiti.import('../test/sim/command.ts');
process.exitCode = await runCommand(process.argv.slice(2), (line) => process.stdout.write(`${line}\n`));
