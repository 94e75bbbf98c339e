import type { RunRecord } from './thread.js';

/** What the last agent message of a run says so far. */
export function lastTextOf(run: RunRecord): string {
  if (run.lastPieces !== undefined) {
    run.lastText += run.lastPieces.join('');
    run.lastPieces = undefined;
  }
  return run.lastText;
}

/** A text that grows by `+=` is a rope of its pieces, and the collector moves every one of them: they are joined when asked for. */
export function noteText(run: RunRecord, messageId: string, text: string): void {
  if (run.lastMessageId === messageId) {
    if (run.lastPieces === undefined) run.lastPieces = [text];
    else run.lastPieces.push(text);
    return;
  }
  run.lastMessageId = messageId;
  run.lastText = text;
  run.lastPieces = undefined;
}
