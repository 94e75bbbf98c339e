import { existsSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  isCallExpression,
  isExportDeclaration,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isModuleDeclaration,
  isStringLiteral,
  type Node,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

/** The folder of package.json. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/**
 * `value`: loaded with the file that names it. `dynamic`: loaded when the code gets there. `type`: gone after compilation.
 * `import { type A }` is a value import: with `verbatimModuleSyntax` the compiler leaves `import {}` behind.
 */
export type ImportKind = 'value' | 'dynamic' | 'type';

/** One import. `target` is a path from the root for our own files, else the specifier of a package or builtin. */
export interface Import {
  readonly target: string;
  readonly kind: ImportKind;
  readonly line: number;
}

/** Every source file, by its path from the root with forward slashes, with what it imports. */
export type ImportGraph = ReadonlyMap<string, readonly Import[]>;

const page = join(root, 'src', 'studio', 'web', 'tsconfig.json');

/** All that the build makes: what it compiles, and Studio's page, which it bundles. */
export function readSources(): ImportGraph {
  return new Map([...readImportGraph(), ...readImportGraph(page)]);
}

/** Reads what a tsconfig compiles, by default what the build does. Throws when that is no file at all. */
export function readImportGraph(tsconfig = join(root, 'tsconfig.build.json')): ImportGraph {
  const api = new API({ cwd: root });
  try {
    const project = api
      .updateSnapshot({ openProjects: [tsconfig] })
      .getProjects()
      .at(0);
    if (!project || project.rootFiles.length === 0) throw new Error(`${tsconfig} names no source files`);
    const graph = new Map<string, Import[]>();
    for (const file of project.rootFiles) {
      const source = project.program.getSourceFile(file);
      if (!source) throw new Error(`the compiler does not hold ${file}, which it was told to read`);
      graph.set(fromRoot(file), importsOf(source, file));
    }
    return graph;
  } finally {
    api.close();
  }
}

function importsOf(source: SourceFile, file: string): Import[] {
  const found: Import[] = [];
  const visit = (node: Node): void => {
    const named = importIn(node);
    if (named) {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      found.push({ target: resolve(named.specifier, file), kind: named.kind, line });
    }
    node.forEachChild(visit);
  };
  visit(source);
  return found;
}

function importIn(node: Node): { specifier: string; kind: ImportKind } | undefined {
  if (isImportDeclaration(node)) {
    const typeOnly = node.importClause?.phaseModifier === SyntaxKind.TypeKeyword;
    return named(node.moduleSpecifier, typeOnly ? 'type' : 'value');
  }
  if (isExportDeclaration(node)) return named(node.moduleSpecifier, node.isTypeOnly ? 'type' : 'value');
  if (isImportTypeNode(node)) {
    return isLiteralTypeNode(node.argument) ? named(node.argument.literal, 'type') : undefined;
  }
  if (isModuleDeclaration(node)) return named(node.name, 'type');
  if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
    return named(node.arguments.at(0), 'dynamic');
  }
  return undefined;
}

/** An import whose name is worked out at run time (a user's file) has no place in the graph. */
function named(specifier: Node | undefined, kind: ImportKind) {
  return specifier && isStringLiteral(specifier) ? { specifier: specifier.text, kind } : undefined;
}

function resolve(specifier: string, importer: string): string {
  if (!specifier.startsWith('.')) return specifier;
  const target = join(dirname(importer), specifier);
  const source = [target.replace(/\.js$/, '.ts'), target.replace(/\.jsx?$/, '.tsx')].find(existsSync);
  return fromRoot(source ?? target);
}

function fromRoot(path: string): string {
  return relative(root, path).split(sep).join('/');
}
