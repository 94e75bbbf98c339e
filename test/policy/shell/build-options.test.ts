import { expect, test } from 'vitest';
import { createPolicyEngine } from '../../../src/policy/engine.js';

const REACHING = [
  'gradle test --init-script evil.gradle',
  'gradle -I evil.gradle test',
  'rspec -r ./evil.rb',
  'rspec --require ./evil.rb',
  'mvn test -f other/pom.xml',
  'mvn test --settings other.xml',
  'dotnet test --settings other.runsettings',
];
const PLAIN = ['gradle test --info', 'rspec spec/a_spec.rb -fd', 'mvn -pl core -DskipTests test', 'dotnet test'];

async function outcomeOf(command: string) {
  const commandPrefix = command.split(' ')[0] as string;
  const rules = [{ toolName: 'run_shell_command', decision: 'allow', commandPrefix } as const];
  const engine = createPolicyEngine([{ tier: 'user', rules }]);
  const { outcome } = await engine.explain({
    action: 'run_shell_command',
    args: { command },
    context: { mode: 'default', executor: 'local', structural: false },
  });
  return outcome;
}

test.each(REACHING)('a prefix that names the program does not cover an option that loads code: %s', async (command) => {
  expect(await outcomeOf(command)).toBe('ask_user');
});

test.each(PLAIN)('a prefix that names the program covers it: %s', async (command) => {
  expect(await outcomeOf(command)).toBe('allow');
});
