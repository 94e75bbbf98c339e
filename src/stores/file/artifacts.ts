import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { ArtifactStore } from '../../contracts/index.js';
import { artifactUri } from '../../kernel/artifact-uri.js';
import { TroupeError } from '../../kernel/errors.js';
import { assertSessionId } from '../../kernel/session-id.js';
import { codeOf, type FilePort, orMissing, syncDirectory, writeAll } from './file-port.js';
import { newToken } from './living.js';
import { sessionFiles } from './session-files.js';
import { doing } from './store-fault.js';

/** First line of the file of a version; the data follows. */
interface VersionHead {
  readonly name: string;
  readonly mimeType?: string;
  readonly length: number;
  readonly sum: number;
}

const LINE_END = 10;
const SUFFIX = '.artifact';

/** Artifacts beside the logs of their sessions, one file per version, and so gone with them. Durable once saved. */
export function fileArtifacts(files: FilePort, root: string): ArtifactStore {
  const all = (sessionId: string) => {
    assertSessionId(sessionId);
    return join(sessionFiles(root, sessionId).directory, 'artifacts');
  };
  const directoryOf = (sessionId: string, name: string) =>
    join(all(sessionId), createHash('sha256').update(name).digest('hex').slice(0, 32));
  const versionsIn = async (directory: string): Promise<number[]> => {
    const names = (await orMissing(files.names(directory))) ?? [];
    const versions = names.flatMap((name) => (/^\d+\.artifact$/.test(name) ? [Number.parseInt(name, 10)] : []));
    return versions.sort((a, b) => a - b);
  };

  async function read(directory: string, version: number) {
    const bytes = await orMissing(files.readFile(join(directory, version + SUFFIX)));
    if (bytes === undefined) return undefined;
    const start = bytes.indexOf(LINE_END) + 1;
    const head = headIn(bytes.subarray(0, start));
    const data = bytes.subarray(start);
    if (head === undefined || data.length !== head.length || crc32(data) !== head.sum) {
      throw new TroupeError({
        code: 'ARTIFACT_DAMAGED',
        message: `version ${version} of an artifact in ${directory} is damaged: save it again`,
      });
    }
    return { head, data };
  }

  /** Under the next number that nobody else takes. */
  async function put(directory: string, bytes: Uint8Array): Promise<number> {
    await files.mkdir(directory, true);
    const draft = join(directory, `${newToken()}.new`);
    const fd = await files.open(draft, 'wx');
    try {
      await writeAll(files, fd, bytes);
      await files.datasync(fd);
    } finally {
      await files.close(fd);
    }
    try {
      for (let version = ((await versionsIn(directory)).at(-1) ?? 0) + 1; ; version++) {
        try {
          await files.link(draft, join(directory, version + SUFFIX));
          return version;
        } catch (thrown) {
          if (codeOf(thrown) !== 'EEXIST') throw thrown;
        }
      }
    } finally {
      await files.unlink(draft).catch(() => {});
      for (const one of [directory, join(directory, '..'), join(directory, '..', '..')])
        await syncDirectory(files, one);
    }
  }

  return {
    async save(sessionId, name, data, mimeType) {
      if (name === '') throw new TroupeError({ code: 'INVALID_OPTION', message: 'an artifact needs a name' });
      const directory = directoryOf(sessionId, name);
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      const head: VersionHead = {
        name,
        ...(mimeType !== undefined && { mimeType }),
        length: bytes.length,
        sum: crc32(bytes),
      };
      const whole = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), bytes]);
      const version = await doing(`artifact "${name.slice(0, 80)}" cannot be saved`, put(directory, whole));
      return { version, uri: artifactUri(sessionId, name, version) };
    },
    async load(sessionId, name, version) {
      const directory = directoryOf(sessionId, name);
      const at = version ?? (await versionsIn(directory)).at(-1);
      const found = at === undefined ? undefined : await read(directory, at);
      if (at === undefined || found === undefined) return undefined;
      const { mimeType } = found.head;
      return { data: new Uint8Array(found.data), version: at, ...(mimeType !== undefined && { mimeType }) };
    },
    async list(sessionId) {
      const directory = all(sessionId);
      const listed: { name: string; versions: number[] }[] = [];
      for (const folder of (await orMissing(files.names(directory))) ?? []) {
        const versions = await versionsIn(join(directory, folder));
        const [first] = versions;
        const bytes = first === undefined ? undefined : await readHead(files, join(directory, folder, first + SUFFIX));
        if (bytes !== undefined) listed.push({ name: bytes.name, versions });
      }
      return listed.sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    async delete(sessionId, name, fromVersion = 1) {
      if (name === undefined) return files.removeAll(all(sessionId));
      const directory = directoryOf(sessionId, name);
      if (fromVersion <= 1) return files.removeAll(directory);
      for (const version of await versionsIn(directory)) {
        if (version >= fromVersion) await orMissing(files.unlink(join(directory, version + SUFFIX)));
      }
    },
  };
}

const HEAD_BYTES = 4_096;

/** Without the data behind it. */
async function readHead(files: FilePort, path: string): Promise<VersionHead | undefined> {
  const fd = await orMissing(files.open(path, 'r'));
  if (fd === undefined) return undefined;
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const count = await files.read(fd, bytes, 0);
    return headIn(bytes.subarray(0, bytes.subarray(0, count).indexOf(LINE_END) + 1));
  } finally {
    await files.close(fd);
  }
}

function headIn(bytes: Buffer): VersionHead | undefined {
  try {
    const head = JSON.parse(bytes.toString('utf8')) as Partial<VersionHead> | null;
    return typeof head?.name === 'string' && typeof head.length === 'number' ? (head as VersionHead) : undefined;
  } catch {
    return undefined;
  }
}
