import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { AgentMetadata } from '../../contracts/index.js';
import { checkDefinition } from '../../kernel/definition.js';
import type { Problem } from '../../kernel/errors.js';
import { didYouMean } from '../../kernel/text.js';
import { isCodePath, loadCode } from './code.js';
import { isDocumentPath, type ReadDocument, readDocument } from './document.js';
import type { AgentNode } from './node.js';
import type { RawMap } from './raw.js';
import { readNode } from './read-node.js';
import { readTextFile } from './read-text.js';
import { openSection, type Section } from './section.js';

export interface ReaderOptions {
  readonly hostTools: readonly string[] | undefined;
  /** Whether the first file, and the files that files name, may be code. */
  readonly code: { readonly first: boolean; readonly named: boolean };
}

/** What one reading gathers, beside the nodes. */
export interface Reader {
  readonly problems: Problem[];
  readonly notices: string[];
  /** Every file that was read, in order, as it can be opened. */
  readonly files: Set<string>;
  /** Folders of extensions that files name, absolute. */
  readonly extensions: Set<string>;
  first(path: string): Promise<AgentNode | undefined>;
}

/** A file that stands around the present one, to find circles. */
interface Above {
  readonly real: string;
  readonly shown: string;
}

/** More are a mistake, such as files that name one another in many ways. */
const MAX_FILES = 500;

export function createReader(options: ReaderOptions): Reader {
  const problems: Problem[] = [];
  const notices: string[] = [];
  const files = new Set<string>();
  const extensions = new Set<string>();
  let opened = 0;
  let top = '';
  const fault = (path: string, message: string): undefined => {
    problems.push({ code: 'INVALID_DEFINITION', path, message });
    return undefined;
  };

  /** `by` is what names the file: where faults of the file as a whole are told, its own path for the first. */
  async function file(path: string, by: { place: string; says: string; mayBeCode: boolean }, above: readonly Above[]) {
    if (++opened > MAX_FILES) {
      return opened === MAX_FILES + 1
        ? fault(by.place, `is one file too many: a team is at most ${MAX_FILES}`)
        : undefined;
    }
    const real = await realpath(path).catch(() => path);
    const circle = above.findIndex((one) => one.real === real);
    if (circle !== -1) {
      const way = [...above.slice(circle).map(({ shown }) => shown), path].join(' → ');
      return fault(by.place, `${by.says}contains itself: ${way}`);
    }
    if (isCodePath(path)) return code(path, by);
    if (!isDocumentPath(path)) {
      const facts = await stat(path).catch(() => undefined);
      if (facts?.isDirectory()) return fault(by.place, `${by.says}is a folder; name a file`);
      const hint = await similarFiles(path, above);
      return fault(by.place, `${by.says}is no agent file: .md, .yaml, .yml, .json, .ts, .mts, .js and .mjs are${hint}`);
    }
    const document = await readDocument(path, { problems, notices });
    if ('fault' in document) {
      const hint = document.fault === 'does not exist' ? await similarFiles(path, above) : '';
      return fault(by.place, `${by.says}${document.fault}${hint}`);
    }
    files.add(path);
    return node(path, document, [...above, { real, shown: path }]);
  }

  async function code(
    path: string,
    by: { place: string; says: string; mayBeCode: boolean },
  ): Promise<AgentNode | undefined> {
    if (!by.mayBeCode)
      return fault(by.place, `${by.says}is code, which is run only when you name it or allow it (allowCode)`);
    const text = await readTextFile(path);
    if ('fault' in text) return fault(by.place, `${by.says}${text.fault}`);
    const loaded = await loadCode(path);
    if ('fault' in loaded) return fault(`${path}:${loaded.line ?? 1}`, loaded.fault);
    files.add(path);
    const { definition } = loaded;
    const faults = checkDefinition(definition);
    for (const one of faults) problems.push({ ...one, path: `${path}:1:${one.path ?? definition.name}` });
    if (faults.length > 0) return undefined;
    const metadata = { ...definition.descriptor.metadata, ...metadataOf(path, text.hash) };
    return {
      type: 'code',
      name: definition.name,
      file: path,
      definition: { ...definition, descriptor: { ...definition.descriptor, metadata } },
    };
  }

  async function node(path: string, document: ReadDocument, above: readonly Above[]): Promise<AgentNode | undefined> {
    if (document.root === undefined) return undefined;
    const report = { file: path, problems, notices };
    const folder = dirname(path);
    return readNode(openSection(report, document.root), {
      folder,
      metadata: metadataOf(path, document.hash),
      dialect: document.dialect,
      body: document.body,
      bodyPlace: `${path}:${document.bodyLine}`,
      hostTools: options.hostTools,
      takeExtension: (path) => extensions.add(path),
      child: (named, place) =>
        file(
          isAbsolute(named) ? named : join(folder, named),
          { place, says: `"${named}" `, mayBeCode: options.code.named },
          above,
        ),
      schema: (section, key, named) => schema(section, key, isAbsolute(named) ? named : join(folder, named)),
    });
  }

  async function schema(
    section: Section,
    key: string,
    path: string,
  ): Promise<{ map: RawMap; file: string } | undefined> {
    if (isCodePath(path) || !isDocumentPath(path) || path.endsWith('.md')) {
      return section.say(key, `"${path}" is no schema file: .json, .yaml and .yml are`);
    }
    const document = await readDocument(path, { problems, notices });
    if ('fault' in document) return section.say(key, `"${path}" ${document.fault}`);
    files.add(path);
    return document.root && { map: document.root, file: path };
  }

  const metadataOf = (path: string, hash: string): AgentMetadata => ({
    filePath: relative(top, path).split(sep).join('/'),
    hash,
  });

  return {
    problems,
    notices,
    files,
    extensions,
    first: (path) => {
      top = dirname(path);
      return file(path, { place: path, says: '', mayBeCode: options.code.first }, []);
    },
  };
}

/** What a missing file may have meant: a name near it, or the same name with an ending. Not the file that names it. */
async function similarFiles(path: string, above: readonly Above[]): Promise<string> {
  const wanted = basename(path);
  const all = await readdir(dirname(path)).catch(() => []);
  const names = all.filter((name) => name !== wanted && above.every(({ shown }) => basename(shown) !== name)).sort();
  const longer = names.find((name) => name.startsWith(`${wanted}.`) || name.split('.')[0] === wanted.split('.')[0]);
  return longer === undefined ? didYouMean(wanted, names) : ` (did you mean "${longer}"?)`;
}
