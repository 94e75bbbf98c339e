// Reads the public surface: what the entry points export, and every declaration of ours that those mention.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isIdentifier, isImportTypeNode, SyntaxKind } from 'typescript/unstable/ast';
import { API, SymbolFlags } from 'typescript/unstable/sync';
import { entryPoints } from './entry-points.mjs';
import { tsc } from './tsc.mjs';

/** @typedef {import('typescript/unstable/ast').Node} Node */
/** @typedef {import('typescript/unstable/sync').Symbol} Symbol */
/** @typedef {import('typescript/unstable/sync').Project} Project */

/**
 * A top-level declaration. `file` is the source's path without its ending. `usesAny`: `any` is written in it, and not by
 * XState.
 * @typedef {{ file: string, name: string, text: string, usesAny: boolean }} Declaration
 */

/**
 * `exports` pairs each exported name with the file that declares it.
 * @typedef {{ specifier: string, exports: { name: string, file: string }[] }} SurfaceEntry
 */

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Compiles the sources to declarations without comments and reads those. Throws when they do not compile.
 * @returns {{ entries: SurfaceEntry[], declarations: Declaration[] }} both in a fixed order
 */
export function readPublicSurface() {
  const folder = realpathSync(mkdtempSync(join(root, 'dist.surface-')));
  try {
    emitDeclarations(join(folder, 'dist'));
    copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
    const entries = entryPoints(folder);
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2023',
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      types: ['node'],
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: entries.map((e) => e.types) }),
    );
    const api = new API({ cwd: folder });
    try {
      const [project] = api.updateSnapshot({ openProjects: [join(folder, 'tsconfig.json')] }).getProjects();
      if (!project) throw new Error('the compiler did not open the emitted declarations');
      return surfaceOf(project, folder, entries);
    } finally {
      api.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} outDir */
function emitDeclarations(outDir) {
  const flags = ['--emitDeclarationOnly', '--removeComments', '--outDir', outDir];
  const run = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', ...flags], {
    cwd: root,
    encoding: 'utf8',
  });
  if (run.status !== 0) throw new Error(`the sources do not compile:\n${run.stdout}${run.stderr}`);
}

/**
 * @param {Project} project
 * @param {string} folder
 * @param {import('./entry-points.mjs').EntryPoint[]} entryFiles
 */
function surfaceOf(project, folder, entryFiles) {
  const { checker, program } = project;
  const ours = (/** @type {Node} */ node) => node.getSourceFile().fileName.startsWith(join(folder, 'dist'));
  const fileOf = (/** @type {Node} */ node) =>
    relative(join(folder, 'dist'), node.getSourceFile().fileName)
      .split(sep)
      .join('/')
      .replace(/\.d\.ts$/, '');
  const real = (/** @type {Symbol} */ symbol) =>
    symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const statementsOf = (/** @type {Symbol} */ symbol) =>
    symbol.declarations.flatMap((handle) => topLevel(handle.resolve()) ?? []).filter(ours);

  /** @type {Map<Node, Declaration>} */
  const declarations = new Map();
  /** @param {Symbol} first */
  const follow = (first) => {
    const waiting = [first];
    for (const symbol of waiting) {
      for (const statement of statementsOf(symbol)) {
        if (declarations.has(statement)) continue;
        const inside = descendants(statement);
        const text = plainText(statement);
        const usesAny = inside.some((node) => node.kind === SyntaxKind.AnyKeyword && !isFilledIn(node));
        declarations.set(statement, { file: fileOf(statement), name: symbol.name, text, usesAny });
        const mentioned = checker.getSymbolAtLocation(inside.filter(isIdentifier));
        waiting.push(...mentioned.flatMap((each) => (each ? [real(each)] : [])));
      }
    }
  };

  const entries = entryFiles.map(({ specifier, types }) => {
    const source = program.getSourceFile(join(folder, types));
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${specifier}: ${types} is no module`);
    const exports = checker.getExportsOfModule(module).map((symbol) => {
      const target = real(symbol);
      follow(target);
      const declared = target.declarations.at(0)?.resolve();
      return { name: symbol.name, file: declared && ours(declared) ? fileOf(declared) : 'another package' };
    });
    return { specifier, exports: exports.sort((a, b) => compare(a.name, b.name)) };
  });
  const inOrder = [...declarations.values()].sort(
    (a, b) => compare(a.file, b.file) || compare(a.name, b.name) || compare(a.text, b.text),
  );
  return { entries, declarations: inOrder };
}

/**
 * The statement that a declaration is, or stands in: of a file or of a `declare module`. Nothing for members and parameters.
 * @param {Node | undefined} declaration
 * @returns {Node | undefined}
 */
function topLevel(declaration) {
  const isVariable = declaration?.kind === SyntaxKind.VariableDeclaration;
  const statement = isVariable ? declaration.parent?.parent : declaration;
  const place = statement?.parent?.kind;
  return place === SyntaxKind.SourceFile || place === SyntaxKind.ModuleBlock ? statement : undefined;
}

/**
 * `createMachine` itself answers with `StateMachine<…, any, any, any>`, which the compiler writes as an import type.
 * @param {Node} node
 */
function isFilledIn(node) {
  const holder = node.parent;
  return holder !== undefined && isImportTypeNode(holder) && holder.argument.getText() === '"xstate"';
}

/**
 * A statement as if it stood at the left margin, without `export` and `declare`.
 * @param {Node} statement
 */
function plainText(statement) {
  const text = statement.getText().replace(/^(export |declare )+/, '');
  return statement.parent?.kind === SyntaxKind.ModuleBlock ? text.replace(/\n {4}/g, '\n') : text;
}

/** @param {Node} node @returns {Node[]} */
function descendants(node) {
  /** @type {Node[]} */
  const found = [];
  /** @param {Node} each */
  const visit = (each) => {
    found.push(each);
    each.forEachChild(visit);
  };
  node.forEachChild(visit);
  return found;
}

/** @param {string} a @param {string} b */
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
