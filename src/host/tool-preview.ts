import type { ToolPreview } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { cutText } from '../kernel/text.js';
import { argsFor } from './tool-args.js';
import { type Call, whenDone } from './tool-call.js';

const LIMIT_MS = 5_000;
const MAX_DIFF = 128 * 1024;
const MAX_PROBLEM = 2_000;
const NOTHING: ToolPreview = {};

/** What the tool shows of a call that a person is to be asked about. Settles when the call has ended too; never rejects. */
export function previewOf(call: Call): ToolPreview | Promise<ToolPreview> {
  const preview = call.entry?.tool?.preview;
  if (preview === undefined) return NOTHING;
  const { clock } = call.thread.tree.host;
  const controller = new AbortController();
  return new Promise<ToolPreview>((resolve) => {
    const settle = (shown: ToolPreview) => {
      cancelTimer();
      resolve(shown);
      controller.abort();
    };
    const cancelTimer = clock.schedule(
      () => settle({ problem: `what would change could not be worked out within ${LIMIT_MS} ms` }),
      LIMIT_MS,
    );
    whenDone(call, () => settle(NOTHING));
    // Within a promise, so that what it throws at once is caught as well.
    new Promise<unknown>((settled) => settled(preview(argsFor(call) as never, { signal: controller.signal }))).then(
      (shown) => settle(readPreview(shown)),
      (thrown) => settle({ problem: `what would change is not known: ${describeError(thrown).message}` }),
    );
  });
}

function readPreview(shown: unknown): ToolPreview {
  const { diff, problem } = (shown ?? {}) as Record<string, unknown>;
  return {
    ...(typeof diff === 'string' && { diff: diff.length > MAX_DIFF ? cutDiff(diff) : diff }),
    ...(typeof problem === 'string' && { problem: cutText(problem, MAX_PROBLEM) }),
  };
}

/** Says so in the diff itself: whoever shows it shows that there is more. */
function cutDiff(diff: string): string {
  const kept = cutText(diff, MAX_DIFF);
  return `${kept}\n[${diff.length - kept.length} more characters of the change are not shown]\n`;
}
