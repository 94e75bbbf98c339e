import { type ReactNode, useState } from 'react';
import type { RunModel } from '../../kernel/run-model.js';
import { oneLine } from './clipped.js';
import type { SessionFeed } from './session-feed.js';
import { MODES } from './start-dialog.js';
import { useCommand } from './use-command.js';

export interface ControlBarProps {
  readonly feed: SessionFeed;
  readonly model: RunModel;
  readonly threadId: string;
  readonly can: readonly string[];
  readonly isRunning: boolean;
  /** Its last run has not ended, and nobody here goes on with it. */
  readonly hasBrokenOff: boolean;
}

/** Steers and stops what runs; goes on with what broke off; sends the next message to what has ended. */
export function ControlBar({ feed, model, threadId, can, isRunning, hasBrokenOff }: ControlBarProps): ReactNode {
  const [text, setText] = useState('');
  const [target, setTarget] = useState<'thread' | 'root' | 'all'>('thread');
  const { send, fault, isBusy } = useCommand();
  const { host, session } = feed;
  const thread = model.threads[threadId];
  if (!can.includes('control')) return null;
  const say = async () => {
    const done = isRunning
      ? await send({
          host,
          command: 'steer',
          session,
          data: { message: text },
          ...(target === 'all' ? { threadId: '*' } : target === 'thread' && threadId !== '' ? { threadId } : {}),
        })
      : await send({ host, command: 'message', session, input: text });
    if (done !== undefined) setText('');
  };
  const name = oneLine(thread?.agentName ?? 'the thread', 40);
  const trouble = fault !== undefined && (
    <span className="fault" role="alert">
      {oneLine(fault, 400)}
    </span>
  );
  if (hasBrokenOff)
    return (
      <div className="control">
        <span>This run has not ended: it can go on from where its log stops.</span>
        <button
          type="button"
          className="primary"
          disabled={isBusy}
          onClick={() => void send({ host, command: 'resume', session })}
        >
          Resume
        </button>
        {trouble}
      </div>
    );
  return (
    <form
      className="control"
      aria-label="Control"
      onSubmit={(event) => {
        event.preventDefault();
        void say();
      }}
    >
      <input
        value={text}
        aria-label={isRunning ? 'Steer' : 'Next message'}
        placeholder={isRunning ? 'Steer: what it hears before its next step' : 'Go on with another message'}
        onChange={(event) => setText(event.target.value)}
      />
      {isRunning && (
        <select
          aria-label="Who hears it"
          value={target}
          onChange={(event) => setTarget(event.target.value as typeof target)}
        >
          <option value="thread">{name}</option>
          {threadId !== '' && <option value="root">the root</option>}
          <option value="all">every live thread</option>
        </select>
      )}
      <button type="submit" className="primary" disabled={isBusy || text === ''}>
        {isRunning ? 'Steer' : 'Send'}
      </button>
      {isRunning && (
        <select
          aria-label="Change the mode"
          value=""
          onChange={(event) => void send({ host, command: 'mode', session, permissionMode: event.target.value })}
        >
          <option value="">Mode…</option>
          {MODES.map((mode) => (
            <option key={mode} value={mode}>
              {mode.replaceAll('_', ' ')}
            </option>
          ))}
        </select>
      )}
      {isRunning && threadId !== '' && thread?.status !== 'ended' && (
        <button
          type="button"
          className="danger"
          disabled={isBusy}
          onClick={() => void send({ host, command: 'abort', session, threadId, reason: 'aborted in Studio' })}
        >
          Abort {name}
        </button>
      )}
      {isRunning && (
        <button
          type="button"
          className="danger"
          disabled={isBusy}
          onClick={() => void send({ host, command: 'abort', session, reason: 'aborted in Studio' })}
        >
          Abort all
        </button>
      )}
      {trouble}
    </form>
  );
}
