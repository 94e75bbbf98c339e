import type { Problem } from '../kernel/errors.js';
import { HOOK_POINTS } from '../kernel/hook-points.js';
import { didYouMean } from '../kernel/text.js';
import type { HostOptions } from './types.js';

/** What is wrong with hooks: a guard at a point that nobody fires is none. */
export function hookFaults(hooks: NonNullable<HostOptions['hooks']>): Problem[] {
  const problems: Problem[] = [];
  const say = (message: string) => problems.push({ code: 'INVALID_OPTION', path: 'hooks', message });
  for (const hook of hooks) {
    if ('point' in hook) {
      const { point, run, timeoutMs } = hook as { point: unknown; run: unknown; timeoutMs?: unknown };
      const isKnown = (HOOK_POINTS as readonly unknown[]).includes(point);
      if (!isKnown)
        say(
          `no hook point "${String(point)}"${didYouMean(String(point), HOOK_POINTS)}; points: ${HOOK_POINTS.join(', ')}`,
        );
      if (typeof run !== 'function') say(`the hook at ${String(point)} needs run, a function`);
      if (timeoutMs !== undefined && !(Number(timeoutMs) > 0))
        say(`the hook at ${String(point)}: timeoutMs must be a number above 0`);
    } else if (typeof hook.fire !== 'function' || typeof hook.supportedHookPoints !== 'function') {
      say('a hook is { point, run }, as defineHook makes it, or { fire, supportedHookPoints }');
    }
  }
  return problems;
}
