import type { Alias, Node, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import type { Problem } from '../../kernel/errors.js';
import type { RawEntry, RawMap, RawNode } from './raw.js';

export interface ParsedDocument {
  /** Absent when the document cannot be used at all. */
  root?: RawNode;
  problems: Problem[];
}

const MAX_NODES = 20_000;
const MAX_DEPTH = 100;
const MAX_SYNTAX_PROBLEMS = 20;
const PLAIN_TAG = /^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/;

/**
 * Reads one YAML document (1.2, core schema). Refused: other tags than those of plain data, keys that are no text or
 * stand twice, `__proto__`, aliases to nothing or to what they stand in, more than 20,000 values with each alias counted
 * as often as it is used, more than 100 levels. `line` is the number of the first line of `text` in its file.
 */
export async function parseYaml(file: string, text: string, line = 1): Promise<ParsedDocument> {
  const { parseDocument, LineCounter, isAlias, isMap, isScalar, isSeq } = await import('yaml');
  const tooDeep = nestedTooDeep(text, line);
  // The parser makes regular expressions as long as the nesting is deep, and those can end the process.
  if (tooDeep !== undefined) return { problems: [problem(file, tooDeep, `is nested deeper than ${MAX_DEPTH} levels`)] };
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    // Its check for keys that stand twice is quadratic; ours follows.
    uniqueKeys: false,
    merge: false,
    prettyErrors: false,
    logLevel: 'error',
    lineCounter,
  });
  const lineAt = (offset: number) => Math.max(1, lineCounter.linePos(offset).line) + line - 1;
  if (document.errors.length > 0) {
    const errors = document.errors.slice(0, MAX_SYNTAX_PROBLEMS);
    return {
      problems: errors.map((error) => problem(file, lineAt(error.pos[0]), sentence(error.code, error.message))),
    };
  }
  const reading: Reading = {
    file,
    lineAt,
    is: { alias: isAlias, map: isMap, scalar: isScalar, seq: isSeq },
    problems: [],
    nodes: 0,
    above: [],
    anchors: new Map(),
    expanding: 0,
  };
  if (document.contents === null) return { problems: [] };
  const root = convert(reading, document.contents, line);
  return { ...(root && { root }), problems: reading.problems };
}

/** Reads one JSON document as strictly as JSON is, with lines. */
export async function parseJson(file: string, text: string): Promise<ParsedDocument> {
  try {
    JSON.parse(text);
  } catch (thrown) {
    const said = thrown instanceof Error ? thrown.message : '';
    const position = /position (\d+)/.exec(said)?.[1];
    const before = text.slice(
      0,
      position === undefined ? (/end of JSON/.test(said) ? text.length : 0) : Number(position),
    );
    return { problems: [problem(file, before.split('\n').length, `is no JSON: ${said.replace(/, ".*/s, '')}`)] };
  }
  // JSON is YAML, so the lines can be had from the other parser.
  return parseYaml(file, text);
}

interface Reading {
  readonly file: string;
  readonly lineAt: (offset: number) => number;
  readonly is: {
    alias(node: unknown): node is Alias;
    map(node: unknown): node is YAMLMap;
    scalar(node: unknown): node is Scalar;
    seq(node: unknown): node is YAMLSeq;
  };
  readonly problems: Problem[];
  nodes: number;
  /** Nodes that the present one stands in. */
  readonly above: Node[];
  /** The latest node of each name. The parser's own look-up goes through the document anew for each alias. */
  readonly anchors: Map<string, Node>;
  /** Aliases that the present node stands in. */
  expanding: number;
}

/** Undefined after a problem; what stands beside is still read, for its own problems. */
function convert(reading: Reading, node: Node | null | undefined, fallbackLine: number): RawNode | undefined {
  if (node === null || node === undefined) return { kind: 'scalar', line: fallbackLine, value: null };
  const line = node.range ? reading.lineAt(node.range[0]) : fallbackLine;
  const say = (message: string) => {
    reading.problems.push(problem(reading.file, line, message));
    return undefined;
  };
  if (reading.is.alias(node)) {
    const target = reading.anchors.get(node.source);
    if (target === undefined) return say(`the alias *${node.source} names nothing that stands before it`);
    if (reading.above.includes(target)) return say(`the alias *${node.source} stands in what it names`);
    reading.expanding++;
    const expanded = convert(reading, target, line);
    reading.expanding--;
    return expanded;
  }
  if (++reading.nodes > MAX_NODES) {
    return reading.nodes === MAX_NODES + 1
      ? say(`holds more than ${MAX_NODES} values, counting aliases each time`)
      : undefined;
  }
  if (reading.expanding === 0 && 'anchor' in node && typeof node.anchor === 'string')
    reading.anchors.set(node.anchor, node);
  if (node.tag !== undefined && !PLAIN_TAG.test(node.tag)) {
    return say(`the tag ${node.tag} is not allowed: files hold plain data only`);
  }
  if (reading.above.length >= MAX_DEPTH) return say(`is nested deeper than ${MAX_DEPTH} levels`);
  reading.above.push(node);
  const converted = convertPlain(reading, node, line, say);
  reading.above.pop();
  return converted;
}

function convertPlain(
  reading: Reading,
  node: Node,
  line: number,
  say: (message: string) => undefined,
): RawNode | undefined {
  if (reading.is.map(node)) return convertMap(reading, node, line);
  if (reading.is.seq(node)) {
    const items = node.items.map((item) => convert(reading, item as Node, line));
    return { kind: 'list', line, items: items.filter((item) => item !== undefined) };
  }
  const value = reading.is.scalar(node) ? node.value : undefined;
  if (typeof value === 'number' && !Number.isFinite(value)) return say(`${value} is no number that JSON knows`);
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return { kind: 'scalar', line, value };
  }
  return say('is no plain value');
}

function convertMap(reading: Reading, map: YAMLMap, line: number): RawMap {
  const entries = new Map<string, RawEntry>();
  for (const pair of map.items) {
    const key = reading.is.scalar(pair.key) ? pair.key : undefined;
    const keyLine = key?.range ? reading.lineAt(key.range[0]) : line;
    const name = key?.value;
    const value = convert(reading, pair.value as Node | null, keyLine);
    const first = typeof name === 'string' ? entries.get(name) : undefined;
    if (typeof name !== 'string' || name === '') {
      reading.problems.push(problem(reading.file, keyLine, 'a key must be a text; put it in quotes'));
    } else if (name === '__proto__') {
      reading.problems.push(problem(reading.file, keyLine, 'is no key that is allowed', name));
    } else if (first !== undefined) {
      reading.problems.push(problem(reading.file, keyLine, `stands twice; the first is in line ${first.line}`, name));
    } else if (value !== undefined) {
      entries.set(name, { line: keyLine, value });
    }
  }
  return { kind: 'map', line, entries };
}

/** The line in which brackets are open deeper than `MAX_DEPTH`, quotes or not. */
function nestedTooDeep(text: string, firstLine: number): number | undefined {
  let depth = 0;
  let line = firstLine;
  for (const character of text) {
    if (character === '\n') line++;
    else if (character === '[' || character === '{') depth++;
    else if ((character === ']' || character === '}') && depth > 0) depth--;
    if (depth > MAX_DEPTH) return line;
  }
  return undefined;
}

function sentence(code: string, message: string): string {
  if (code === 'MULTIPLE_DOCS') return 'holds more than one document; a file is one';
  return `is no YAML: ${message}`;
}

function problem(file: string, line: number, message: string, key?: string): Problem {
  return { code: 'INVALID_DEFINITION', path: `${file}:${line}${key === undefined ? '' : `:${key}`}`, message };
}
