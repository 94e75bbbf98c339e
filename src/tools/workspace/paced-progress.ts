/**
 * Shows text that comes in pieces at most once in `everyMs`: at once the first time, then what has come meanwhile, the
 * last `maxChars` of it. `stop()` drops what was not shown, and leaves no timer.
 */
export function pacedProgress(
  show: (text: string) => void,
  { everyMs, maxChars }: { everyMs: number; maxChars: number },
): { add(text: string): void; stop(): void } {
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    timer = undefined;
    if (waiting === '') return;
    const text = waiting.length > maxChars ? `…${waiting.slice(-maxChars)}` : waiting;
    waiting = '';
    timer = setTimeout(flush, everyMs);
    show(text);
  };
  return {
    add(text) {
      waiting += text;
      if (waiting.length > 4 * maxChars) waiting = waiting.slice(-2 * maxChars);
      if (timer === undefined) flush();
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
      waiting = '';
    },
  };
}
