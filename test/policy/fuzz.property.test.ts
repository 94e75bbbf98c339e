import { expect, test } from 'vitest';
import type { PolicyDecision, PolicyRequest } from '../../src/contracts/index.js';
import { TroupeError } from '../../src/kernel/errors.js';
import { DECISIONS, type PolicyRule, TIERS } from '../../src/kernel/policy-rules.js';
import { createPolicyEngine } from '../../src/policy/engine.js';
import { policyFromToml } from '../../src/policy/toml.js';
import { fc } from '../support/fast-check.js';

const OUTCOMES = ['allow', 'ask_user', 'deny'];
const strictness = ({ outcome }: PolicyDecision) => DECISIONS.indexOf(outcome);

/** What it gives, or nothing where it refuses as it should: any other fault is one. */
function refusing<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(TroupeError);
    expect((thrown as TroupeError).code).toBe('POLICY_INVALID');
    expect((thrown as TroupeError).message).not.toBe('');
    return undefined;
  }
}

const KEYS = [
  'toolName',
  'decision',
  'priority',
  'commandPrefix',
  'commandRegex',
  'argsPattern',
  'mcpName',
  'modes',
  'annotations',
  'principal',
  'context',
  'allowRedirection',
  'allowEnv',
  'sandbox',
  'grant',
  'always',
  'denyMessage',
  '__proto__',
  'constructor',
];
const value = fc.oneof(
  fc.constantFrom('*', 'allow', 'deny', 'ask_user', 'plan', 'yolo', 'run_shell_command', '(a+)+', '[', 'git status'),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.boolean(),
  fc.double(),
  fc.jsonValue({ maxDepth: 2 }),
  fc.array(fc.constantFrom('plan', 'default', 'CI', 'read-only', ''), { maxLength: 3 }),
);
const request: fc.Arbitrary<PolicyRequest> = fc.record({
  action: fc.oneof(fc.constantFrom('run_shell_command', 'write_file', 'mcp_hub_x', '__proto__'), fc.string()),
  args: fc.oneof(fc.record({ command: fc.string() }), fc.jsonValue()),
  principal: fc.string(),
  principalPath: fc.string(),
  context: fc.record({ mode: fc.constantFrom('default', 'plan', 'autonomous', 'no mode') }),
});

test('rules of any form are taken or refused with a reason, and what is taken decides', async () => {
  const rule = fc
    .array(fc.tuple(fc.constantFrom(...KEYS), value), { maxLength: 6 })
    .map((pairs) => ({ toolName: '*', decision: 'allow', ...Object.fromEntries(pairs) }));
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 9, arbitrary: rule }, { weight: 1, arbitrary: value }), { maxLength: 3 }),
      request,
      async (rules, asked) => {
        const engine = refusing(() => createPolicyEngine([{ rules: rules as unknown as PolicyRule[] }]));
        if (engine === undefined) return;
        taken++;
        expect(OUTCOMES).toContain((await engine.evaluate(asked)).outcome);
        expect(OUTCOMES).toContain((await engine.explain(asked)).outcome);
        const saved = await engine.alwaysRules(asked);
        if (saved !== undefined) engine.add({ rules: saved });
      },
    ),
    { seed: 5, numRuns: 1_500 },
  );
  expect(taken).toBeGreaterThan(100);
});

test('a file of any text is taken or refused with its place', () => {
  const sound =
    '[[rules]]\ntoolName = "run_shell_command"\ndecision = "allow"\ncommandPrefix = "git"\nmodes = ["plan"]\n';
  const piece = fc.constantFrom(
    ...[
      '[[rules]]',
      '[rules]',
      'rules = [',
      '{',
      '}',
      ']',
      '"',
      "'",
      '"""',
      '\n',
      '\r\n',
      '\\u0000',
      '=',
      '#',
      '.',
      '\ufeff',
      'x = 1',
    ],
    ...KEYS.map((key) => `${key} = `),
    ...['"*"', '"deny"', 'true', '1e400', '2020-01-01', '[1]', '{a = 1}'],
  );
  const mutated = fc
    .tuple(fc.nat({ max: sound.length }), fc.nat({ max: 8 }), fc.array(piece, { maxLength: 4 }))
    .map(([at, cut, pieces]) => sound.slice(0, at) + pieces.join('') + sound.slice(at + cut));
  const text = fc.oneof(
    mutated,
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    fc.string({ unit: 'binary', maxLength: 60 }),
  );
  fc.assert(
    fc.property(text, fc.constantFrom(...TIERS), (toml, tier) => {
      const set = refusing(() => policyFromToml(toml, { tier, file: 'p.toml' }));
      // What a file gave is sound as it stands.
      if (set !== undefined) expect(refusing(() => createPolicyEngine([set]))).toBeDefined();
    }),
    { seed: 6, numRuns: 2_000 },
  );
});

const SIMPLE = ['git status', 'git push', 'rm x', 'ls -la', 'cat a', 'npm test', 'echo hi'] as const;
const prefix = fc.constantFrom('git', 'git status', 'rm', 'ls', 'cat a', 'npm', 'echo', 'env', 'timeout');
const shellRule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    toolName: fc.constantFrom('run_shell_command', '*'),
    decision: fc.constantFrom(...DECISIONS),
    priority: fc.integer({ min: 0, max: 3 }),
    commandPrefix: prefix,
    modes: fc.array(fc.constantFrom('default', 'plan', 'autonomous'), { minLength: 1, maxLength: 2 }),
    allowRedirection: fc.boolean(),
    allowEnv: fc.constantFrom([], ['CI']),
  },
  { requiredKeys: ['toolName', 'decision'] },
);
const shellSets = fc.array(
  fc.record({ tier: fc.constantFrom('user' as const, 'admin' as const), rules: fc.array(shellRule, { maxLength: 4 }) }),
  {
    minLength: 1,
    maxLength: 2,
  },
);
const WRAPS: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => `env ${line}`,
  (line) => `timeout 5 ${line}`,
  (line) => `nohup ${line}`,
  (line) => `CI=1 ${line}`,
  (line) => `bash -c '${line}'`,
  (line) => `(${line})`,
  (line) => `{ ${line}; }`,
  (line) => `echo "$(${line})"`,
  (line) => `if ls; then ${line}; fi`,
  (line) => `f() { ${line}; }; f`,
  (line) => `${line} > out`,
  (line) => `xargs ${line}`,
  (line) => `eval "${line}"`,
];
const part = fc.tuple(fc.constantFrom(...SIMPLE), fc.constantFrom(...WRAPS));
const line = fc
  .tuple(part, fc.array(fc.tuple(fc.constantFrom('; ', ' && ', ' || ', ' | ', ' & ', '\n'), part), { maxLength: 3 }))
  .map(([[first, wrap], rest]) => ({
    text: wrap(first) + rest.map(([mark, [simple, around]]) => mark + around(simple)).join(''),
    commands: [first, ...rest.map(([, [simple]]) => simple)],
  }));
const asked = (command: string, mode: string): PolicyRequest => ({
  action: 'run_shell_command',
  args: { command },
  context: { mode, annotations: { category: 'execute' } },
});
const shellMode = fc.constantFrom('default', 'auto_edit', 'autonomous', 'plan');

test('a line is never milder than the strictest of the commands in it', async () => {
  let allowed = 0;
  await fc.assert(
    fc.asyncProperty(shellSets, line, shellMode, async (sets, { text, commands }, mode) => {
      const engine = createPolicyEngine(sets);
      const whole = await engine.evaluate(asked(text, mode));
      if (whole.outcome === 'allow') allowed++;
      for (const command of commands) {
        const alone = await engine.evaluate(asked(command, mode));
        expect(strictness(whole), `${text} beside ${command}`).toBeGreaterThanOrEqual(strictness(alone));
      }
    }),
    { seed: 8, numRuns: 1_500 },
  );
  expect(allowed).toBeGreaterThan(50);
});

test('a deny for a command makes no line milder, and no line that holds it is allowed', async () => {
  await fc.assert(
    fc.asyncProperty(shellSets, line, shellMode, async (sets, { text, commands }, mode) => {
      const denied = commands[0] as string;
      const deny: PolicyRule = {
        toolName: 'run_shell_command',
        decision: 'deny',
        commandPrefix: denied,
        priority: 999,
      };
      const before = await createPolicyEngine(sets).evaluate(asked(text, mode));
      const after = await createPolicyEngine([...sets, { tier: 'admin', rules: [deny] }]).evaluate(asked(text, mode));
      expect(strictness(after)).toBeGreaterThanOrEqual(strictness(before));
      expect(after.outcome, text).not.toBe('allow');
    }),
    { seed: 9, numRuns: 1_000 },
  );
});

test('a child never gets more than each leader that acts through it, unless it is granted by name', async () => {
  const principal = fc.constantFrom('lead', 'lead/mid', 'lead/mid/worker', 'mid', 'worker');
  const rule = fc.record(
    {
      toolName: fc.constantFrom('save', '*'),
      decision: fc.constantFrom(...DECISIONS),
      priority: fc.integer({ min: 0, max: 3 }),
      principal,
      argsPattern: fc.constantFrom('"path":"a', '"path":"b'),
    },
    { requiredKeys: ['toolName', 'decision'] },
  );
  const sets = fc.array(
    fc.record({
      tier: fc.constantFrom(...TIERS.filter((one) => one !== 'extension')),
      rules: fc.array(rule, { maxLength: 5 }),
    }),
    { maxLength: 3 },
  );
  const paths = ['lead', 'lead/mid', 'lead/mid/worker'];
  const actor = (path: string) => ({ principal: path.slice(path.lastIndexOf('/') + 1), principalPath: path });
  await fc.assert(
    fc.asyncProperty(sets, fc.constantFrom('a', 'b'), shellMode, async (rules, path, mode) => {
      const engine = createPolicyEngine(rules);
      const saysOf = async (depth: number) =>
        strictness(
          await engine.evaluate({
            action: 'save',
            args: { path },
            ...actor(paths[depth] as string),
            actingFor: paths.slice(0, depth).reverse().map(actor),
            context: { mode },
          }),
        );
      const [lead, mid, worker] = [await saysOf(0), await saysOf(1), await saysOf(2)];
      expect(mid).toBeGreaterThanOrEqual(lead);
      expect(worker).toBeGreaterThanOrEqual(mid);
    }),
    { seed: 10, numRuns: 800 },
  );
});

test('a command line of any text is judged, and where only echo is allowed nothing else is', async () => {
  const engine = createPolicyEngine([
    { rules: [{ toolName: 'run_shell_command', decision: 'allow', commandPrefix: 'echo' }] },
  ]);
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc
      .array(
        fc.constantFrom(
          'echo',
          'rm',
          ' ',
          ';',
          '|',
          '&',
          '$(',
          ')',
          '`',
          '"',
          "'",
          '\\',
          '\n',
          '<',
          '>',
          '{',
          '}',
          '#',
          '$x',
          '=',
          '\0',
          '\u202e',
          '((',
          '[[',
        ),
        { maxLength: 14 },
      )
      .map((parts) => parts.join('')),
  );
  await fc.assert(
    fc.asyncProperty(text, async (command) => {
      const { outcome } = await engine.evaluate(asked(command, 'default'));
      expect(['allow', 'ask_user']).toContain(outcome);
      if (outcome === 'allow') expect(command.trimStart()).toMatch(/^(?:#.*\n\s*|[({!]\s*)*["'\\]*e/s);
    }),
    { seed: 11, numRuns: 2_000 },
  );
});
