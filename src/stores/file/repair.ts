import type { RepairReport } from '../../contracts/index.js';
import { archive } from './archive.js';
import { syncDirectory } from './file-port.js';
import { openLog } from './open-log.js';
import { sortRecords, writeLog } from './rewrite-log.js';
import { gapsOf } from './scan-log.js';
import type { SessionFiles } from './session-files.js';
import { doing } from './store-fault.js';
import type { StoreParts } from './store-parts.js';

/**
 * Takes the damaged lines and the torn end of a log out of it, into its archive. A log that is whole stays as it is.
 * Rejects with `SESSION_LOCKED` while somebody writes it.
 */
export async function repairLog({ files, locks }: StoreParts, paths: SessionFiles, id: string): Promise<RepairReport> {
  // Whether there is one at all, and one that can be read, before anything is touched.
  await openLog(files, paths, id);
  const what = `session "${id}" cannot be repaired`;
  await doing(what, locks.take(id, paths.directory));
  try {
    const { scan, header } = await openLog(files, paths, id);
    const { torn, bad, lastSeq, count: eventCount, reservedSeq } = scan;
    const report: RepairReport = { gaps: gapsOf(scan), lastSeq, eventCount };
    if (bad.length === 0 && torn === undefined) return report;
    const mend = async () => {
      const fd = await files.open(paths.log, 'r');
      try {
        if (bad.length > 0) await archive(files, paths.archive, 'damaged', fd, bad.map(withEnd));
        if (torn !== undefined) await archive(files, paths.archive, 'torn', fd, [torn]);
        const { kept } = await sortRecords(files, fd, scan, Number.POSITIVE_INFINITY);
        await writeLog(files, `${paths.log}.new`, header, fd, kept, reservedSeq);
      } finally {
        await files.close(fd);
      }
      await files.rename(`${paths.log}.new`, paths.log);
      await syncDirectory(files, paths.directory);
    };
    await doing(what, mend());
    return report;
  } finally {
    await locks.release(paths.directory);
  }
}

/** With its end of line. */
const withEnd = ({ from, to }: { from: number; to: number }) => ({ from, to: to + 1 });
