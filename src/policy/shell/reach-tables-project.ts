import type { OptionTable } from './reach-options.js';

const list = (text: string): readonly string[] => text.split(' ');

const GRADLE: OptionTable = {
  short: 'IbcpgM',
  valued: 'DPx',
  long: list(
    'init-script build-file settings-file project-dir gradle-user-home include-build project-cache-dir ' +
      'write-verification-metadata write-locks update-locks',
  ),
  exact: list('-Dorg.gradle.java.home -Dorg.gradle.jvmargs'),
  writing: list('-M -g --project-cache-dir --write-verification-metadata --write-locks --update-locks'),
};
const MAVEN: OptionTable = {
  short: 'fslt',
  valued: 'nprDPTbe',
  long: list('file settings global-settings toolchains global-toolchains log-file'),
  exact: list('-Dmaven.ext.class.path -Dmaven.repo.local -Djvm -Dexec.executable'),
  writing: list('-l --log-file -Dmaven.repo.local'),
};
const PIP: OptionTable = {
  short: 'td',
  valued: 'rceif',
  long: list(
    'log log-file target prefix root src dest wheel-dir report cache-dir python config-settings global-option ' +
      'build-option install-option',
  ),
  writing: list('-t -d --log --log-file --target --prefix --root --src --dest --wheel-dir --report --cache-dir'),
};
const BUNDLER: OptionTable = { short: 'c', long: list('config config-loader config-plugin plugin configPlugin') };

/** The same of programs that work by the files of a project: another such file is another program. */
export const PROJECT_TABLES: readonly (readonly [string, OptionTable])[] = [
  ['gradle', GRADLE],
  ['gradlew', GRADLE],
  ['mvn', MAVEN],
  ['mvnw', MAVEN],
  ['ant', { exact: list('-f -file -buildfile -lib -logger -listener -propertyfile -l -logfile -find -s') }],
  ['sbt', { short: 'J', exact: list('-sbt-jar -sbt-dir -java-home'), long: list('sbt-jar sbt-dir java-home') }],
  ['bazel', { long: list('bazelrc run_under shell_executable output_base output_user_root workspace_status_command') }],
  ['pip', PIP],
  ['pip3', PIP],
  ['tox', { short: 'cx', long: list('conf override workdir root') }],
  ['nox', { short: 'f', long: list('noxfile envdir') }],
  [
    'rspec',
    {
      short: 'rIOo',
      valued: 'fePtE',
      long: list('require options out init drb default-path'),
      writing: ['-o', '--out'],
    },
  ],
  ['rubocop', { short: 'raAox', valued: 'f', long: list('require plugin config auto-correct autocorrect out') }],
  ['bundle', { short: 'r', long: list('gemfile require path') }],
  ['phpunit', { short: 'cd', long: list('bootstrap configuration include-path extension printer loader log-junit') }],
  ['composer', { short: 'd', long: list('working-dir'), writing: 'all' }],
  [
    'mocha',
    {
      short: 'ru',
      valued: 'gfRCO',
      long: list('require import loader config package ui reporter file node-option opts'),
    },
  ],
  ['ava', { long: list('config node-arguments update-snapshots') }],
  ['webpack', BUNDLER],
  ['rollup', { ...BUNDLER, short: 'codp' }],
  ['vite', BUNDLER],
  ['stylelint', { short: 'fo', long: list('config config-basedir custom-syntax custom-formatter fix output-file') }],
  ['helm', { long: list('post-renderer registry-config repository-config kubeconfig output-dir') }],
  ['gh', { short: 'OD', valued: 'RLqtHBbFmSal', long: list('output dir upload-pack editor'), isEndless: true }],
];

/** What a script of a package is given: which program takes it is in the file of the package. */
export const SCRIPT_TABLE: OptionTable = {
  short: 'cr',
  long: list(
    'config require import loader plugin globalSetup global-setup globalTeardown global-teardown setupFiles ' +
      'setup-files rootDir root-dir root runner reporter reporters resolver transform preset rulesdir ' +
      'resolve-plugins-relative-to parser output output-file outputFile outDir outFile project fix write update ' +
      'init-script exec eval',
  ),
  writing: list(
    '--reporter --reporters --output --output-file --outputFile --outDir --outFile --project --fix --write --update',
  ),
};
