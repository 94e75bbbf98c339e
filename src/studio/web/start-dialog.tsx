import { type ReactNode, useState } from 'react';
import type { HostOverview } from '../wire.js';
import { oneLine } from './clipped.js';
import { Dialog } from './dialog.js';
import { useCommand } from './use-command.js';

export const MODES = ['default', 'plan', 'auto_edit', 'dont_ask', 'autonomous'];

export interface StartDialogProps {
  readonly hosts: readonly HostOverview[];
  readonly onStarted: (host: string, session: string) => void;
  readonly onClose: () => void;
}

/** Starts a run of any agent of any host. */
export function StartDialog({ hosts, onStarted, onClose }: StartDialogProps): ReactNode {
  const able = hosts.filter(({ agents, can }) => can.includes('start') && agents.length > 0);
  const [host, setHost] = useState(able[0]?.id ?? '');
  const agents = able.find(({ id }) => id === host)?.agents ?? [];
  const [chosen, setAgent] = useState('');
  const agent = agents.some(({ name }) => name === chosen) ? chosen : (agents[0]?.name ?? '');
  const [input, setInput] = useState('');
  const [mode, setMode] = useState('');
  const { send, isBusy, fault } = useCommand();
  const start = async () => {
    const result = await send({
      host,
      command: 'start',
      agent,
      input,
      ...(mode === '' ? {} : { permissionMode: mode }),
    });
    if (result !== undefined) onStarted(host, result.sessionId);
  };
  return (
    <Dialog title="Start a run" onClose={onClose}>
      {able.length === 0 ? (
        <p className="empty">
          No host here has agents that could be started: give <code>createHost</code> its <code>agents</code>.
        </p>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void start();
          }}
        >
          {able.length > 1 && (
            <label>
              Host
              <select value={host} onChange={(event) => setHost(event.target.value)}>
                {able.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {oneLine(name, 80)}
                  </option>
                ))}
              </select>
            </label>
          )}
          <label>
            Agent
            <select value={agent} onChange={(event) => setAgent(event.target.value)}>
              {agents.map(({ name }) => (
                <option key={name} value={name}>
                  {oneLine(name, 80)}
                </option>
              ))}
            </select>
          </label>
          <p className="quiet">{oneLine(agents.find(({ name }) => name === agent)?.description ?? '', 400)}</p>
          <label>
            Input
            <textarea rows={4} value={input} onChange={(event) => setInput(event.target.value)} required />
          </label>
          <label>
            Mode
            <select value={mode} onChange={(event) => setMode(event.target.value)}>
              <option value="">as the host has it</option>
              {MODES.map((name) => (
                <option key={name} value={name}>
                  {name.replaceAll('_', ' ')}
                </option>
              ))}
            </select>
          </label>
          {fault !== undefined && (
            <p className="fault" role="alert">
              {oneLine(fault, 500)}
            </p>
          )}
          <div className="buttons">
            <button type="submit" className="primary" disabled={isBusy || input === ''}>
              Start
            </button>
            <button type="button" onClick={onClose}>
              Not now
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
