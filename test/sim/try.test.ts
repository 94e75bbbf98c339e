import { test } from 'vitest';
import { validateJson } from '../../src/kernel/schema.js';
import { simulate } from './world.js';
test('try', async () => {
  await validateJson({ type: 'object' }, {});
  const from = Number(process.env.FROM ?? 1);
  const n = Number(process.env.N ?? 30);
  let bad = 0;
  const t = Date.now();
  for (let seed = from; seed < from + n; seed++) {
    const s = await simulate(seed);
    if (s.problems.length) { bad++; console.log(seed, s.problems.slice(0, 4).join('\n   ')); }
    if (n === 1) console.log(JSON.stringify(s.plan), '\n' + s.trace.join('\n'));
  }
  console.log('bad', bad, 'ms per seed', (Date.now() - t) / n);
}, 600000);
