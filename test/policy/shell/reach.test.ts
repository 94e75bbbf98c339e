import { describe, expect, test } from 'vitest';
import { parseCommands } from '../../../src/policy/shell/parse.js';
import { plainLines, reachingLines } from './reaching-lines.js';
import { judgeByRules, outcomeBy } from './shell-cases.js';

const toolName = 'run_shell_command';
const DENY = { toolName, decision: 'deny', commandPrefix: 'rm', priority: 1 } as const;
const ASK = { ...DENY, decision: 'ask_user' } as const;
const ALL = { toolName, decision: 'allow', allowRedirection: true } as const;

describe('a command that is denied is not reached by way of another', () => {
  test.each(reachingLines)('%s', async (line) => {
    expect((await judgeByRules(line, [ALL, DENY])).outcome).not.toBe('allow');
    expect((await judgeByRules(line, [DENY], 'autonomous')).outcome).not.toBe('allow');
    expect((await judgeByRules(line, [ALL, ASK])).outcome).not.toBe('allow');
    const byPattern = { toolName, decision: 'deny', commandRegex: 'rm( |$)', priority: 1 } as const;
    expect((await judgeByRules(line, [byPattern], 'autonomous')).outcome).not.toBe('allow');
  });

  test.each(plainLines)('but %s is as allowed as it was', async (line) => {
    expect((await judgeByRules(line, [DENY], 'autonomous')).outcome).toBe('allow');
  });

  test('without a rule that might be evaded nothing is asked', async () => {
    for (const line of reachingLines) {
      expect((await judgeByRules(line, [], 'autonomous')).outcome, line).toBe('allow');
    }
  });

  test.each([
    ["git -c alias.x='!rm -rf y' x", 'deny'],
    ["git -c alias.x='push -f' x", 'allow'],
    ["git -c alias.x='!wrapper' x rm y", 'ask_user'],
    ["git -c alias.x='!wrapper' x y", 'allow'],
    ['git -c alias.x=\'!f() { env "$@"; }; f\' x rm y', 'ask_user'],
    ["git -c alias.x='!sudo' x rm y", 'deny'],
    ["rsync -e 'wrapper' a rm:b", 'ask_user'],
    ["tar -I 'zstd -9' -cf a f", 'allow'],
    ["git -c core.sshCommand='nice rm y' fetch", 'deny'],
    ["git clone --config=core.pager='rm x' u", 'deny'],
    ["tar cf a --checkpoint-action=exec='cd x; rm y' f", 'deny'],
    ["rsync -e 'ssh -p 22' a h:b", 'allow'],
    ["ssh host 'cd x && rm y'", 'deny'],
    ["ssh -p 22 host ls ';' rm x", 'deny'],
    ["su -c 'rm x'", 'deny'],
    ["man -P 'env' ls", 'ask_user'],
    ['git -c core.pager=sh log', 'ask_user'],
  ])('the text that a program gives to a shell is read: %s → %s', async (line, outcome) => {
    expect((await judgeByRules(line, [ALL, DENY])).outcome).toBe(outcome);
  });

  test('a deny of two words is found behind an alias too', async () => {
    const push = { ...DENY, commandPrefix: 'git push' };
    expect((await judgeByRules("git -c alias.x='push -f' x", [ALL, push])).outcome).toBe('deny');
    expect((await judgeByRules('wrapper git push', [ALL, push])).outcome).toBe('ask_user');
    expect((await judgeByRules('wrapper git pull', [ALL, push])).outcome).toBe('allow');
  });

  test('what a program would run is told to who is asked', () => {
    const texts = parseCommands("git -c core.pager='less -R' log").map(({ text }) => text);
    expect(texts).toEqual(["git -c core.pager='less -R' log", 'less -R "$@"']);
  });
});

describe('what writes a file, or starts another program, is not covered by the name of the program', () => {
  test.each([
    ['git bundle', 'git bundle create M HEAD'],
    ['git archive', 'git archive -o M HEAD'],
    ['tar', 'tar cf M .'],
    ['tar', 'tar -czf M .'],
    ['tar', 'tar --create --file=M .'],
    ['tar', 'tar xf a.tar'],
    ['tar', 'tar --extract -f a.tar'],
    ['pytest', 'pytest --junitxml=M'],
    ['docker', 'docker run alpine touch M'],
    ['docker', 'docker save -o M x'],
    ['kubectl', 'kubectl exec p -- touch M'],
    ['ssh', 'ssh host touch M'],
    ['ssh host ls', "ssh host ls ';' touch M"],
    ['npx', 'npx touch M'],
    ['valgrind', 'valgrind touch M'],
    ['ld.so', 'ld.so /bin/touch M'],
    ['clang', 'clang -o M f.c'],
    ['python3', `python3 -W ignore -c 'open("M","w")'`],
    ['python3', `python3 -X dev -c 'open("M","w")'`],
    ['python3 -X', `python3 -X dev -c 'open("M","w")'`],
    ['node', "node --require x -e 'y'"],
    ['perl', "perl -w -E 'x'"],
    ['git rebase', "git rebase -ix 'touch M' main"],
    ['sqlite3', 'sqlite3 x.db'],
    ['jest', 'jest --config evil.js'],
    ['jest', 'jest --global-setup=./evil.js'],
    ['vitest run', 'vitest run -c evil.ts'],
    ['vitest', 'vitest --root /tmp/evil'],
    ['npx tsc', 'npx tsc --outDir M'],
    ['npx --no-install eslint', 'npx --no-install eslint --fix .'],
    ['npm exec', 'npm exec -- tsc --outDir M'],
    ['npm exec tsc', 'npm exec tsc --outDir M'],
    ['bundle exec ruby', "bundle exec ruby -e 'x'"],
    ['uv run pytest', 'uv run pytest -p evil'],
    ['gradle', 'gradle --init-script evil.gradle test'],
    ['gradle test', 'gradle test -I evil.gradle'],
    ['gradle', 'gradle -Dorg.gradle.java.home=/tmp/evil test'],
    ['mvn', 'mvn -f evil.xml test'],
    ['mvn test', 'mvn test -fevil.xml'],
    ['mvn test', 'mvn test -Dmaven.ext.class.path=evil.jar'],
    ['rspec', 'rspec -r ./evil.rb'],
    ['rspec', 'rspec -I. -revil'],
    ['bundle exec rspec', 'bundle exec rspec --require ./evil.rb'],
    ['rubocop', 'rubocop -r ./evil.rb'],
    ['dotnet test', 'dotnet test --settings evil.runsettings'],
    ['dotnet test', 'dotnet test -s:evil.runsettings'],
    ['dotnet test', 'dotnet test --settings:evil.runsettings'],
    ['dotnet', 'dotnet evil.dll'],
    ['dotnet build', 'dotnet build @evil.rsp'],
    ['dotnet build', 'dotnet build /p:PreBuildEvent=evil'],
    ['pip list', 'pip list --log M'],
    ['pip', 'pip --python ./evil list'],
    ['pip install', 'pip install --target M x'],
    ['pip', 'pip config edit --editor evil'],
    ['gh', "gh alias set x '!evil'"],
    ['gh', 'gh extension install evil/gh-x'],
    ['gh', 'gh x'],
    ['gh', 'gh config set pager evil'],
    ['gh release', 'gh release download -O M'],
    ['gh repo clone', 'gh repo clone o/r -- --upload-pack=evil'],
    ['git branch', 'git branch --edit-description'],
    ['git branch', 'git branch --edit-desc'],
    ['npm test', 'npm test -- --config evil.js'],
    ['npm test', 'npm test -- -c evil.js'],
    ['npm run test', 'npm run test -- --globalSetup=./evil.js'],
    ['pnpm test', 'pnpm test --config evil.js'],
    ['yarn test', 'yarn test --config=evil.js'],
    ['mocha', 'mocha --require ./evil.js'],
    ['mocha', 'mocha -r ./evil.js'],
    ['phpunit', 'phpunit --bootstrap evil.php'],
    ['webpack', 'webpack -c evil.js'],
    ['helm template', 'helm template x --post-renderer ./evil'],
    ['tox', 'tox -c evil.ini'],
    ['pytest', 'pytest -p evil'],
    ['pytest', 'pytest -c evil.ini'],
    ['cargo test', 'cargo test --config evil.toml'],
    ['go test', 'go test -exec ./evil ./...'],
    ['go test', 'go test -toolexec=./evil ./...'],
    ['eslint', 'eslint -c evil.js .'],
    ['make', 'make -f Evil'],
    ['make test', "make test --eval='x:; evil'"],
    ['node', 'node -r ./evil.js x.js'],
    ['node', 'node --import=./evil.js x.js'],
  ])('%s: %s', async (prefix, line) => {
    expect(await outcomeBy(line, [prefix])).toBe('ask_user');
  });

  test.each([
    ['git bundle create', 'git bundle create M HEAD'],
    ['git bundle', 'git bundle verify a'],
    ['tar', 'tar tf a.tar'],
    ['tar', 'tar -tvf a.tar'],
    ['tar xf', 'tar xf a.tar'],
    ['pytest', 'pytest -x -k name'],
    ['docker', 'docker ps -a'],
    ['docker run', 'docker run alpine ls'],
    ['npx vitest', 'npx vitest run'],
    ['npx vitest', 'npx vitest --run --coverage test/a'],
    ['npx tsc', 'npx tsc --noEmit'],
    ['npx tsc --outDir', 'npx tsc --outDir out'],
    ['uv run pytest', 'uv run pytest -k name'],
    ['yarn test', 'yarn test'],
    ['jest', 'jest --ci src/a.test.ts'],
    ['ssh host', 'ssh host'],
    ['python3', 'python3 -u -W ignore script.py'],
    ['gradle', 'gradle test --info -Pfast=1 -x lint'],
    ['gradle --init-script', 'gradle --init-script my.gradle test'],
    ['mvn', 'mvn -B -q -ntp -nsu -pl core -am -rf :core -DskipTests test'],
    ['rspec', 'rspec -fd spec/a_spec.rb -e name'],
    ['dotnet test', 'dotnet test -c Release --nologo -v q'],
    ['pip list', 'pip list --outdated'],
    ['pip install', 'pip install -r requirements.txt'],
    ['gh', 'gh pr view 7 --json title'],
    ['gh pr', 'gh pr list -L 5'],
    ['git branch', 'git branch --list'],
    ['git commit', 'git commit --edit -m x'],
    ['npm test', 'npm test -- --watch src/a.test.ts'],
    ['npm run', 'npm run build'],
    ['pnpm test', 'pnpm test src/a.test.ts'],
    ['mocha', 'mocha --grep name test'],
    ['node', 'node --test'],
    ['cmake', 'cmake -DCMAKE_BUILD_TYPE=Release -B build'],
  ])('%s: %s is allowed', async (prefix, line) => {
    expect(await outcomeBy(line, [prefix])).toBe('allow');
  });
});
