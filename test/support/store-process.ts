// A program that writes a session until it is killed: <directory> <session> <first seq> [how many at once]. Prints each
// seq once its append has resolved.
import type { AgentEvent } from '../../src/contracts/index.js';
import { fileStore } from '../../src/stores/file.js';

const [dir = '', id = '', first = '1', atOnce = '1'] = process.argv.slice(2);
const store = fileStore({ dir });
const handle = first === '1' ? await store.create('desk', { id }) : await store.load(id);

const note = (seq: number): AgentEvent => ({
  id: `e${seq}`,
  timestamp: new Date(seq).toISOString(),
  seq,
  type: 'custom',
  kind: 'note',
  data: { text: 'x'.repeat((seq * 37) % 3_000) },
});

let seq = Number(first) - 1;
for (;;) {
  await Promise.all(
    Array.from({ length: Number(atOnce) }, async () => {
      const mine = ++seq;
      await handle.append(note(mine));
      process.stdout.write(`${mine}\n`);
    }),
  );
}
