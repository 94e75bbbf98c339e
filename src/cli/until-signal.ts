import type { CommandIo } from './command-io.js';

/** Resolves at the first SIGINT, SIGTERM or SIGHUP. */
export const untilSignal = (io: CommandIo): Promise<void> =>
  new Promise((done) => {
    const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) =>
      io.onSignal(signal, () => {
        for (const off of handlers) off();
        done();
      }),
    );
  });
