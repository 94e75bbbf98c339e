import type { AgentEvent, OpenAgentEvent } from '../contracts/index.js';
import type { CommandIo } from './command-io.js';
import { visibleLine } from './plain-text.js';
import { eventLine } from './render-json.js';
import { createLineRenderer, noticeText } from './render-lines.js';
import { createTreeScreen, type TreeScreen } from './render-tree.js';
import type { RunView } from './run-view.js';
import { styleFor } from './style.js';
import { usageText } from './tree-lines.js';

/** Shows a run while it goes on. */
export interface RunProgress {
  /** Called after the view has taken the event in. Returns what to wait for while the reader is behind. */
  show(event: OpenAgentEvent): void | Promise<void>;
  /** A sentence for the person, beside the events. */
  say(sentence: string): void;
  /** The tree, where there is one: a question takes its place while it is asked. */
  readonly screen: TreeScreen | undefined;
  end(): void;
}

/**
 * `--json`: one event per line on stdout and nothing else. Otherwise stdout is left to the result, and stderr shows a
 * live tree when both are terminals, plain lines when they are not.
 */
export function createRunProgress(view: RunView, io: CommandIo, options: { json: boolean }): RunProgress {
  const { stdout, stderr } = io;
  const say = (sentence: string) => void stderr.write(`troupe: ${visibleLine(sentence)}\n`);
  if (options.json) return { show: (event) => stdout.write(eventLine(event)), say, screen: undefined, end: () => {} };

  const style = styleFor(stderr, io.env);
  if (stdout.isTTY && stderr.isTTY && io.env.TERM !== 'dumb') {
    const screen = createTreeScreen(view, {
      screen: stderr,
      style,
      unicode: supportsUnicode(io.env),
      now: () => io.now(),
    });
    return {
      show(event) {
        screen.update();
        const notice = event.type === 'custom' ? noticeText(event as AgentEvent<'custom'>) : undefined;
        if (notice !== undefined) screen.print([style('yellow', notice)]);
      },
      say: (sentence) => screen.print([`troupe: ${visibleLine(sentence)}`]),
      screen,
      end: () => screen.end(),
    };
  }

  const renderer = createLineRenderer(style);
  return {
    show(event) {
      const lines = renderer.lines(event);
      return lines.length === 0 ? undefined : stderr.write(`${lines.join('\n')}\n`);
    },
    say,
    screen: undefined,
    end() {
      const usage = usageText(view.totals);
      if (usage !== '') void stderr.write(`${usage}\n`);
    },
  };
}

/** Whether lines and marks beyond ASCII can be drawn. A locale that says nothing is taken for one of today. */
export function supportsUnicode(env: CommandIo['env']): boolean {
  if (env.TERM === 'linux') return false;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return locale === '' || /utf-?8/i.test(locale);
}
