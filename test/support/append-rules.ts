// Adds rules to a policy file from a process of its own: `append-rules.ts <file> <name> <count>`.
import { appendRules } from '../../src/policy/user-file.js';

const [file = '', name = '', count = '0'] = process.argv.slice(2);
for (let index = 0; index < Number(count); index++) {
  await appendRules(file, [
    { toolName: `${name}_${index}`, decision: 'allow', always: true },
    { toolName: 'shared', decision: 'allow', always: true },
  ]);
}
