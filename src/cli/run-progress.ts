import type { AgentEvent, OpenAgentEvent } from '../contracts/index.js';
import { usageText } from '../kernel/run-figures.js';
import type { RunModel } from '../kernel/run-model.js';
import type { CommandIo } from './command-io.js';
import { visibleLine } from './plain-text.js';
import { eventLine } from './render-json.js';
import { createLineRenderer, noticeText } from './render-lines.js';
import { createTreeScreen } from './render-tree.js';
import { styleFor } from './style.js';

/** Shows a run while it goes on. */
export interface RunProgress {
  /** Called after the view has taken the event in. Returns what to wait for while the reader is behind. */
  show(event: OpenAgentEvent): void | Promise<void>;
  /** A sentence for the person, beside the events. */
  say(sentence: string): void;
  /** Whether the text stands on the screen already. Absent: nothing of the result does. */
  hasShown?(text: string): boolean;
  /** Text for stdout, where others write there too. */
  print?(text: string): void;
  /** Leaves the screen to a question; what there is to show meanwhile comes with `resume`. */
  pause(): void;
  resume(): void;
  end(): void;
}

/**
 * `--json`: one event per line on stdout and nothing else. Otherwise stdout is left to the result, and stderr shows a
 * live tree when both are terminals, plain lines when they are not.
 */
export function createRunProgress(view: RunModel, io: CommandIo, options: { json: boolean }): RunProgress {
  if (options.json) return jsonProgress(io);
  const drawsTree = io.stdout.isTTY && io.stderr.isTTY && io.env.TERM !== 'dumb';
  return drawsTree ? treeProgress(view, io) : lineProgress(view, io);
}

function jsonProgress({ stdout, stderr }: CommandIo): RunProgress {
  const nothing = () => {};
  return {
    show: (event) => stdout.write(eventLine(event)),
    say: (sentence) => void stderr.write(sentenceLine(sentence)),
    pause: nothing,
    resume: nothing,
    end: nothing,
  };
}

function treeProgress(view: RunModel, io: CommandIo): RunProgress {
  const style = styleFor(io.stderr, io.env);
  const unicode = supportsUnicode(io.env);
  const screen = createTreeScreen(view, { screen: io.stderr, style, unicode, now: () => io.now() });
  return {
    show(event) {
      screen.update();
      const notice = event.type === 'custom' ? noticeText(event as AgentEvent<'custom'>) : undefined;
      if (notice !== undefined) screen.print([style('yellow', notice)]);
    },
    say: (sentence) => screen.print([sentenceLine(sentence).trimEnd()]),
    pause: () => screen.pause(),
    resume: () => screen.resume(),
    end: () => screen.end(),
  };
}

function lineProgress(view: RunModel, { stderr, env }: CommandIo): RunProgress {
  const renderer = createLineRenderer(styleFor(stderr, env));
  let held: string[] | undefined;
  const write = (text: string): void | Promise<void> => {
    if (held === undefined) return stderr.write(text);
    held.push(text);
  };
  const resume = () => {
    const text = held?.join('') ?? '';
    held = undefined;
    if (text !== '') void stderr.write(text);
  };
  return {
    show(event) {
      const lines = renderer.lines(event);
      return lines.length === 0 ? undefined : write(`${lines.join('\n')}\n`);
    },
    say: (sentence) => void write(sentenceLine(sentence)),
    pause() {
      held ??= [];
    },
    resume,
    end() {
      resume();
      const usage = usageText(view.totals);
      if (usage !== '') void stderr.write(`${usage}\n`);
    },
  };
}

function sentenceLine(sentence: string): string {
  return `troupe: ${visibleLine(sentence)}\n`;
}

/** Whether lines and marks beyond ASCII can be drawn. A locale that says nothing is taken for one of today. */
export function supportsUnicode(env: CommandIo['env']): boolean {
  if (env.TERM === 'linux') return false;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return locale === '' || /utf-?8/i.test(locale);
}
