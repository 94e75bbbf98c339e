import type { AgentEvent, OpenAgentEvent } from '../contracts/index.js';
import { usageText } from '../kernel/run-figures.js';
import type { RunModel } from '../kernel/run-model.js';
import type { ChatFoot } from './chat-terminal.js';
import type { CommandIo } from './command-io.js';
import { visibleLine, visibleLines } from './plain-text.js';
import { createLineRenderer } from './render-lines.js';
import { type RunProgress, supportsUnicode } from './run-progress.js';
import { styleFor } from './style.js';
import { cutToWidth, cutToWidthFromEnd, wrapToWidth } from './text-width.js';
import { totalsLine } from './tree-figures.js';
import { treeLines } from './tree-lines.js';

const frameMs = 100;
/** Of an answer whose line has not ended yet. */
const partialRows = 6;

/**
 * One run of a chat: the answer line by line as it streams, what happens beside it in lines, and at the foot the tree of
 * threads while there is one. What others than the root say is a line each.
 */
export function createChatProgress(view: RunModel, io: CommandIo, screen: ChatFoot): RunProgress {
  const style = styleFor(io.stdout, io.env);
  const unicode = supportsUnicode(io.env);
  const renderer = createLineRenderer(style);
  let messageId: string | undefined;
  /** The whole of the root's last message, and what of it has not been printed. */
  let message = '';
  let partial = '';
  let changed = true;
  let lastSecond = -1;

  const foot = (): string[] => {
    const { width, height } = screen;
    const shown = visibleLine(partial);
    const text = shown === '' ? [] : wrapToWidth(cutToWidthFromEnd(shown, width * partialRows - partialRows), width);
    const now = io.now();
    const busy = Object.keys(view.threads[''] === undefined ? {} : view.threads[''].runningTools).length > 0;
    const status =
      view.threadCount > 1 || busy
        ? treeLines(view, { width, height: Math.max(2, Math.min(10, height - text.length)), style, unicode, now })
        : [style('dim', cutToWidth(view.threadCount === 0 ? 'running' : totalsLine(view, now), width))];
    return [...text, ...status];
  };

  const tick = (): void => {
    const second = Math.floor(io.now() / 1_000);
    if (!changed && second === lastSecond) return;
    changed = false;
    lastSecond = second;
    screen.show(foot());
  };

  const timer = setInterval(tick, frameMs);
  timer.unref();

  /** What stands there becomes part of what stays. */
  const finishLine = (): string[] => {
    const line = visibleLine(partial);
    partial = '';
    return line === '' ? [] : [line];
  };

  const says = (event: AgentEvent<'message'>): void => {
    const before = event.messageId === messageId ? [] : finishLine();
    if (event.messageId !== messageId || event._meta?.replace === true) {
      message = '';
      partial = '';
    }
    ({ messageId } = event);
    const text = event.content
      .map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : ''))
      .join('');
    message += text;
    const lines = (partial + text).split('\n');
    partial = lines.pop() ?? '';
    screen.print([...before, ...lines.flatMap((line) => visibleLines(line))]);
  };

  return {
    show(open: OpenAgentEvent) {
      changed = true;
      const event = open as AgentEvent;
      const isRoot = event.threadId === undefined;
      if (event.type === 'message' && event.role === 'agent' && isRoot) return says(event);
      if (event.type === 'stream_end' && isRoot) return;
      const lines = renderer.lines(event);
      if (lines.length > 0) screen.print([...finishLine(), ...lines]);
    },
    say: (sentence) => screen.print([...finishLine(), style('yellow', visibleLine(sentence))]),
    hasShown: (text) => text.trim() === message.trim(),
    print: (text) => screen.print(text.replace(/\n$/, '').split('\n')),
    pause() {
      screen.print(finishLine());
      screen.pause();
    },
    resume: () => screen.resume(),
    end() {
      clearInterval(timer);
      screen.print(finishLine());
      screen.show([]);
      const usage = usageText(view.totals);
      if (usage !== '') screen.print([style('dim', usage)]);
    },
  };
}
