/** Kinds of files by extension; those that hold source code, with the way they say what they import. */
const sources: Readonly<Record<string, { extensions: readonly string[]; imports: string }>> = {
  TypeScript: { extensions: ['ts', 'tsx', 'mts', 'cts'], imports: ' from ' },
  JavaScript: { extensions: ['js', 'jsx', 'mjs', 'cjs'], imports: ' from ' },
  Vue: { extensions: ['vue'], imports: ' from ' },
  Svelte: { extensions: ['svelte'], imports: ' from ' },
  Python: { extensions: ['py', 'pyi'], imports: 'import ' },
  Java: { extensions: ['java'], imports: 'import ' },
  Kotlin: { extensions: ['kt', 'kts'], imports: 'import ' },
  Scala: { extensions: ['scala'], imports: 'import ' },
  Swift: { extensions: ['swift'], imports: 'import ' },
  Dart: { extensions: ['dart'], imports: 'import ' },
  Haskell: { extensions: ['hs'], imports: 'import ' },
  C: { extensions: ['c', 'h'], imports: '#include' },
  'C++': { extensions: ['cc', 'cpp', 'cxx', 'hh', 'hpp', 'hxx'], imports: '#include' },
  'C#': { extensions: ['cs'], imports: 'using ' },
  Rust: { extensions: ['rs'], imports: 'use ' },
  PHP: { extensions: ['php'], imports: 'use ' },
  Ruby: { extensions: ['rb'], imports: 'require' },
  Go: { extensions: ['go'], imports: '' },
  Elixir: { extensions: ['ex', 'exs'], imports: 'alias ' },
  Lua: { extensions: ['lua'], imports: 'require' },
  Shell: { extensions: ['sh', 'bash', 'zsh'], imports: '' },
  SQL: { extensions: ['sql'], imports: '' },
};

const others: Readonly<Record<string, readonly string[]>> = {
  Markdown: ['md', 'mdx', 'markdown'],
  JSON: ['json', 'jsonc', 'json5', 'jsonl'],
  YAML: ['yaml', 'yml'],
  TOML: ['toml'],
  HTML: ['html', 'htm'],
  CSS: ['css', 'scss', 'sass', 'less'],
  Text: ['txt', 'rst', 'adoc', 'log'],
  Table: ['csv', 'tsv'],
  Image: ['png', 'jpg', 'jpeg', 'gif', 'svg', 'webp', 'ico'],
};

const kinds = new Map<string, string>();
const importWords = new Map<string, string>();
for (const [kind, { extensions, imports }] of Object.entries(sources)) {
  for (const extension of extensions) {
    kinds.set(extension, kind);
    importWords.set(extension, imports);
  }
}
for (const [kind, extensions] of Object.entries(others)) for (const extension of extensions) kinds.set(extension, kind);

/** In lower case, without the dot; empty where there is none (`Makefile`, `.gitignore`). */
export function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? '' : name.slice(dot + 1).toLowerCase();
}

export function kindOf(path: string): string {
  const extension = extensionOf(path);
  if (extension === '') return 'without extension';
  return kinds.get(extension) ?? `.${extension}`;
}

/** What the lines of a source file that import something hold; empty where that cannot be told by one line. */
export const importWordOf = (path: string): string => importWords.get(extensionOf(path)) ?? '';

/** A glob for the names of source files. */
export const sourceNames = `*.{${[...importWords.keys()].join(',')}}`;
