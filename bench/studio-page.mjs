// Reads what an open page of Studio reads, and throws it away: `node studio-page.mjs <origin> <token>`, told by its parent
// which session to look at.
const [, , origin, token] = process.argv;
let leaving = new AbortController();

async function listen(path, began, signal) {
  const { body, status } = await fetch(`${origin}/api/${path}token=${token}`, { signal });
  if (status !== 200) throw new Error(`${path}: ${status}`);
  for await (const _ of body) began?.();
}

process.on('message', ({ sessionId }) => {
  leaving.abort();
  if (sessionId === undefined) return process.send('left');
  leaving = new AbortController();
  let isReading = false;
  const began = () => {
    if (isReading) return;
    isReading = true;
    process.send('reading');
  };
  const { signal } = leaving;
  listen(`sessions/1/${sessionId}/stream?after=0&`, began, signal).catch((thrown) => {
    if (!signal.aborted) throw thrown;
  });
});
process.on('disconnect', () => process.exit(0));
await listen('overview/stream?', () => process.send('ready'), undefined);
