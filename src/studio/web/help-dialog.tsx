import type { ReactNode } from 'react';
import { Dialog } from './dialog.js';

const KEYS = [
  ['↑ ↓', 'through the threads'],
  ['← →', 'fold and unfold, or to the parent and the first child'],
  ['/', 'filter the threads'],
  ['1 – 5', 'transcript, statechart, team, timeline, compare'],
  ['[ ]', 'one event back, one on'],
  ['Escape', 'back to now'],
  ['n', 'start a run'],
  ['i', 'show or hide the inbox'],
  ['?', 'this help'],
] as const;

export function HelpDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <p className="quiet">
        On the timeline: + and − or Ctrl and the wheel zoom, dragging and the arrow keys move, 0 shows the whole run. On
        a statechart the arrow keys go through its steps.
      </p>
    </Dialog>
  );
}
