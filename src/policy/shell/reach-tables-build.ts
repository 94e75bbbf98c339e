import type { OptionTable } from './reach-options.js';

const list = (text: string): readonly string[] => text.split(' ');

/** Options of programs that read `--rootDir` and `--root-dir` as one. */
const inBothForms = (names: string): readonly string[] =>
  list(names).flatMap((name) => [`--${name}`, `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`]);

const MAKE: OptionTable = {
  short: 'fCI',
  long: list('file makefile directory eval include-dir'),
  writing: list('-C -I --directory --include-dir'),
};
const TEX: OptionTable = {
  exact: list(
    '-shell-escape -enable-write18 --shell-escape --enable-write18 -lua --lua -output-directory --output-directory',
  ),
  writing: list('-output-directory --output-directory'),
};
const C_COMPILER: OptionTable = {
  short: 'oB',
  valued: 'DIWflLmUOgx',
  exact: list('-wrapper -specs -dumpdir -MF -fplugin'),
  long: list('specs output'),
  writing: list('-o -dumpdir -MF --output'),
};
const DOCKER: OptionTable = {
  short: 'o',
  long: list('output cidfile iidfile metadata-file entrypoint health-cmd config'),
  writing: list('-o --output --cidfile --iidfile --metadata-file'),
};

/** The same of programs that build, test and package. */
export const BUILD_TABLES: readonly (readonly [string, OptionTable])[] = [
  ['make', MAKE],
  ['gmake', MAKE],
  ['rake', { short: 'efrIp', long: list('execute execute-print execute-continue rakefile require libdir') }],
  ['cmake', { short: 'PE', valued: 'DUGTABSCW' }],
  ...['tex', 'latex', 'pdftex', 'pdflatex', 'xelatex', 'lualatex', 'luatex'].map((name) => [name, TEX] as const),
  ['ninja', { short: 'fC', writing: ['-C'] }],
  [
    'npm',
    {
      short: 'C',
      long: list(
        'prefix script-shell userconfig globalconfig node-options cache init-module call shell pack-destination',
      ),
      writing: list('-C --prefix --cache --pack-destination'),
      commands: ['--call'],
    },
  ],
  [
    'npx',
    {
      short: 'c',
      long: list('call shell script-shell prefix userconfig node-options'),
      writing: ['--prefix'],
      commands: list('-c --call'),
    },
  ],
  ['pnpm', { short: 'C', long: list('dir shell-mode config script-shell shell-emulator'), writing: list('-C --dir') }],
  ['yarn', { long: list('cwd use-yarnrc script-shell modules-folder'), writing: list('--cwd --modules-folder') }],
  [
    'cargo',
    { short: 'C', long: list('config manifest-path target-dir'), writing: list('-C --manifest-path --target-dir') },
  ],
  [
    'go',
    {
      exact: list(
        '-exec -toolexec -o -vettool -C -overlay -modfile -gccgoflags -ldflags -gcflags -cpuprofile -memprofile ' +
          '-blockprofile -mutexprofile -coverprofile -trace -outputdir',
      ),
      writing: list(
        '-o -C -modfile -cpuprofile -memprofile -blockprofile -mutexprofile -coverprofile -trace -outputdir',
      ),
      commands: list('-exec -toolexec -vettool'),
    },
  ],
  ['gcc', C_COMPILER],
  ['g++', C_COMPILER],
  ['cc', C_COMPILER],
  ['c++', C_COMPILER],
  ['clang', C_COMPILER],
  ['clang++', C_COMPILER],
  ['rustc', { short: 'oC', long: list('out-dir emit codegen sysroot'), writing: list('-o --out-dir --emit') }],
  ['javac', { exact: list('-d -s -h -processor -processorpath'), writing: list('-d -s -h') }],
  [
    'tsc',
    {
      exact: ['-p'],
      long: list('project outDir outFile declarationDir tsBuildInfoFile generateTrace init build'),
      writing: 'all',
    },
  ],
  [
    'eslint',
    {
      short: 'oc',
      long: list(
        'fix output-file rulesdir config resolve-plugins-relative-to parser plugin format cache-location cache-file init',
      ),
      writing: list('-o --fix --output-file --cache-location --cache-file'),
    },
  ],
  [
    'prettier',
    { short: 'w', long: list('write plugin config cache-location'), writing: list('-w --write --cache-location') },
  ],
  [
    'pytest',
    {
      short: 'pco',
      valued: 'kmrnW',
      long: list(
        'junitxml junit-xml basetemp rootdir confcutdir resultlog report-log debug cov-report html override-ini',
      ),
      writing: 'all',
    },
  ],
  [
    'mypy',
    {
      long: list(
        'junit-xml html-report txt-report xml-report any-exprs-report linecount-report cobertura-xml-report cache-dir ' +
          'config-file python-executable install-types',
      ),
      writing: 'all',
    },
  ],
  ['ruff', { short: 'o', long: list('fix unsafe-fixes output-file cache-dir add-noqa'), writing: 'all' }],
  ['flake8', { long: list('output-file tee'), writing: 'all' }],
  ['coverage', { short: 'o', long: list('data-file directory'), writing: 'all' }],
  [
    'jest',
    {
      short: 'uc',
      exact: inBothForms(
        'outputFile coverageDirectory cacheDirectory updateSnapshot config rootDir roots projects globalSetup ' +
          'globalTeardown setupFiles setupFilesAfterEnv testEnvironment testRunner testSequencer runner reporters ' +
          'transform resolver preset filter globals moduleDirectories moduleNameMapper modulePaths ' +
          'snapshotSerializers watchPlugins prettierPath',
      ),
      writing: ['-u', ...inBothForms('outputFile coverageDirectory cacheDirectory updateSnapshot')],
    },
  ],
  [
    'vitest',
    {
      short: 'ucr',
      exact: inBothForms(
        'outputFile update config root dir workspace reporter environment runner globalSetup coverage.provider ' +
          'coverage.customProviderModule coverage.reportsDirectory coverage.reporter',
      ),
      writing: ['-u', ...inBothForms('outputFile update coverage.reportsDirectory')],
    },
  ],
  ['docker', DOCKER],
  ['podman', DOCKER],
  ['kubectl', { short: 'k', valued: 'lnofc', long: list('kubeconfig kustomize'), writing: list('-k --kustomize') }],
  [
    'terraform',
    {
      exact: list('-out -state -state-out -backup -chdir -plugin-dir'),
      writing: list('-out -state -state-out -backup -chdir'),
    },
  ],
];
