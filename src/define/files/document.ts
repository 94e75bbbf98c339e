import { extname, resolve } from 'node:path';
import type { Problem } from '../../kernel/errors.js';
import { type Dialect, dialectOf } from './dialect.js';
import { splitFrontMatter } from './front-matter.js';
import { type ParsedDocument, parseJson, parseYaml } from './parse.js';
import { type RawMap, type RawNode, toPlain } from './raw.js';
import { readTextFile } from './read-text.js';
import { quotePlainTexts } from './repair.js';
import { IS_SCRIPT, isScript } from './script-shape.js';

export interface ReadDocument {
  /** The map that the file is; undefined when it is none, which has been reported. */
  readonly root: RawMap | undefined;
  readonly hash: string;
  readonly dialect: Dialect;
  /** The text of a Markdown file below its front matter; otherwise empty. */
  readonly body: string;
  readonly bodyLine: number;
}

export const isDocumentPath = (path: string): boolean => /\.(md|markdown|ya?ml|json)$/i.test(path);

/** A file that holds a map, read and parsed; or why it cannot be read at all. What is wrong in it goes to `problems`. */
export async function readDocument(
  path: string,
  { problems, notices }: { problems: Problem[]; notices: string[] },
): Promise<ReadDocument | { fault: string }> {
  const file = await readTextFile(path);
  if ('fault' in file) return file;
  if (file.text.trim() === '') return { fault: 'is empty' };
  const none = { root: undefined, hash: file.hash, dialect: 'troupe' as const, body: '', bodyLine: 1 };
  const say = (place: string, message: string) => {
    problems.push({ code: 'INVALID_DEFINITION', path: place, message });
    return none;
  };
  const asMap = (parsed: ParsedDocument, line: number): RawMap | undefined => {
    problems.push(...parsed.problems);
    if (isScript(parsed.root)) {
      say(`${path}:${parsed.root?.line ?? line}`, IS_SCRIPT);
      return undefined;
    }
    if (parsed.root?.kind === 'map') return parsed.root;
    if (parsed.problems.length === 0)
      say(`${path}:${parsed.root?.line ?? line}`, `must hold keys with values, not ${named(parsed.root)}`);
    return undefined;
  };
  if (!/\.(md|markdown)$/i.test(path)) {
    const isJson = extname(path).toLowerCase() === '.json';
    const parsed = isJson ? await parseJson(path, file.text) : await parseYaml(path, file.text);
    return { ...none, root: asMap(parsed, 1) };
  }
  const split = splitFrontMatter(file.text);
  if ('fault' in split) return say(`${path}:${split.line}`, split.fault);
  const { front, frontLine, body, bodyLine } = split;
  const { parsed, wasRepaired } = await parseFront(path, front, frontLine);
  const dialect = parsed.root?.kind === 'map' ? dialectOfMap(path, parsed.root) : 'troupe';
  if (wasRepaired)
    notices.push(
      `${path}:${frontLine}: the front matter is no YAML as it stands; texts with ": " were read as plain text`,
    );
  const root = asMap(parsed, frontLine);
  return { root: root && dialect !== 'troupe' ? withoutEmpty(root) : root, hash: file.hash, dialect, body, bodyLine };
}

/** Front matter of other tools that is no YAML is read as they read it; ours has to be right. */
async function parseFront(
  path: string,
  front: string,
  line: number,
): Promise<{ parsed: ParsedDocument; wasRepaired: boolean }> {
  const parsed = await parseYaml(path, front, line);
  const repaired = parsed.root === undefined ? quotePlainTexts(front) : undefined;
  if (repaired === undefined) return { parsed, wasRepaired: false };
  const second = await parseYaml(path, repaired, line);
  const isForeign =
    second.root?.kind === 'map' && second.problems.length === 0 && dialectOfMap(path, second.root) !== 'troupe';
  return isForeign ? { parsed: second, wasRepaired: true } : { parsed, wasRepaired: false };
}

function dialectOfMap(path: string, map: RawMap): Dialect {
  const plain = (key: string) => {
    const entry = map.entries.get(key);
    return entry && toPlain(entry.value);
  };
  return dialectOf({
    path: resolve(path),
    keys: [...map.entries.keys()],
    model: plain('model'),
    tools: plain('tools'),
  });
}

/** Other tools take a key that holds nothing as absent. */
function withoutEmpty(map: RawMap): RawMap {
  const filled = [...map.entries].filter(([, { value }]) => value.kind !== 'scalar' || value.value !== null);
  return { ...map, entries: new Map(filled) };
}

function named(root: RawNode | undefined): string {
  if (root === undefined) return 'nothing';
  return root.kind === 'list' ? 'a list' : 'a single value';
}
