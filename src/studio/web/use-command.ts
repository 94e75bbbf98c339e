import { useCallback, useState } from 'react';
import type { Command, CommandResult } from '../wire.js';
import { sendCommand } from './api.js';

export interface Sending {
  readonly isBusy: boolean;
  /** What the server had against the last command. */
  readonly fault: string | undefined;
  send(command: Command): Promise<CommandResult | undefined>;
}

/** Sends commands one at a time, and keeps what went wrong. */
export function useCommand(): Sending {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const send = useCallback(async (command: Command) => {
    setBusy(true);
    setFault(undefined);
    try {
      return await sendCommand(command);
    } catch (thrown) {
      setFault(thrown instanceof Error ? thrown.message : String(thrown));
      return undefined;
    } finally {
      setBusy(false);
    }
  }, []);
  return { isBusy, fault, send };
}
