// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expansions of the shell.

import type { PolicyDecision } from '../../../src/contracts/index.js';
import type { PolicyRule } from '../../../src/kernel/policy-rules.js';
import { createPolicyEngine } from '../../../src/policy/engine.js';

/** `touches`: a real bash made the file `M` when it ran the line, in an empty folder. */
export interface ShellCase {
  readonly id: string;
  readonly prefix: string;
  readonly line: string;
  readonly touches: boolean;
}

export const shellCases: readonly ShellCase[] = [
  { id: 'S01', prefix: 'echo', line: 'echo hi', touches: false },
  { id: 'S02', prefix: 'echo', line: 'echo hi && touch M', touches: true },
  { id: 'S04', prefix: 'echo', line: 'echo hi; touch M', touches: true },
  { id: 'S05', prefix: 'echo', line: 'echo hi & touch M', touches: true },
  { id: 'S07', prefix: 'echo', line: 'echo M | xargs touch', touches: true },
  { id: 'S08', prefix: 'echo', line: 'echo hi |& touch M', touches: true },
  { id: 'S10', prefix: 'echo', line: 'echo "$(touch M)"', touches: true },
  { id: 'S11', prefix: 'echo', line: "echo '$(touch M)'", touches: false },
  { id: 'S13', prefix: 'echo', line: 'echo "\\$(touch M)"', touches: false },
  { id: 'S14', prefix: 'echo', line: 'echo <(touch M)', touches: true },
  { id: 'S16', prefix: 'cat', line: 'cat <<EOF\n$(touch M)\nEOF', touches: true },
  { id: 'S17', prefix: 'cat', line: "cat <<'EOF'\n$(touch M)\nEOF", touches: false },
  { id: 'S19', prefix: 'echo', line: 'echo hi > M', touches: true },
  { id: 'S20', prefix: 'echo', line: 'echo hi>>M', touches: true },
  { id: 'S22', prefix: 'echo', line: 'echo hi &> M', touches: true },
  { id: 'S23', prefix: 'echo', line: 'echo hi 1>M', touches: true },
  { id: 'S25', prefix: 'echo', line: '> M echo hi', touches: true },
  { id: 'S26', prefix: 'echo', line: "echo 'a > M'", touches: false },
  { id: 'S28', prefix: 'echo', line: '{ touch M; }', touches: true },
  { id: 'S29', prefix: 'echo', line: 'if true; then touch M; fi', touches: true },
  { id: 'S31', prefix: 'echo', line: 'echo(){ touch M; }; echo hi', touches: true },
  { id: 'S32', prefix: 'echo', line: 'X=$(touch M) echo hi', touches: true },
  { id: 'S34', prefix: 'echo', line: 'echo ${X:=$(touch M)}', touches: true },
  { id: 'S35', prefix: 'echo', line: 'echo $((1+$(touch M; echo 1)))', touches: true },
  { id: 'S37', prefix: 'printf', line: "printf -v 'a[$(touch M)]' x", touches: true },
  { id: 'S38', prefix: 'touch?', line: "to''uch M", touches: true },
  { id: 'S40', prefix: 'touch?', line: "$'\\x74ouch' M", touches: true },
  { id: 'S41', prefix: 'touch?', line: 'a=touch; $a M', touches: true },
  { id: 'S43', prefix: 'env', line: "env -S 'touch M'", touches: true },
  { id: 'S44', prefix: 'command', line: 'command touch M', touches: true },
  { id: 'S46', prefix: 'time', line: 'time touch M', touches: true },
  { id: 'S47', prefix: '!', line: '! touch M', touches: true },
  { id: 'S49', prefix: 'timeout', line: 'timeout 5 touch M', touches: true },
  { id: 'S50', prefix: 'nice', line: 'nice -n 5 touch M', touches: true },
  { id: 'S52', prefix: 'bash', line: "bash -lc 'touch M'", touches: true },
  { id: 'S53', prefix: 'eval', line: "eval 'touch M'", touches: true },
  { id: 'S55', prefix: 'find', line: 'find . -maxdepth 0 -execdir touch M \\;', touches: true },
  { id: 'S56', prefix: 'find', line: 'echo y | find . -maxdepth 0 -ok touch M \\;', touches: true },
  { id: 'S58', prefix: 'find', line: 'find . -maxdepth 0 -fprintf M x', touches: true },
  { id: 'S59', prefix: 'xargs', line: 'echo M | xargs touch', touches: true },
  { id: 'S61', prefix: 'awk', line: 'awk \'BEGIN{print 1 > "M"}\'', touches: true },
  { id: 'S62', prefix: 'sed', line: "echo a | sed 'w M'", touches: true },
  { id: 'S64', prefix: 'sort', line: 'echo a | sort -o M', touches: true },
  { id: 'S65', prefix: 'git', line: "git -c alias.x='!touch M' x", touches: true },
  { id: 'S67', prefix: 'git', line: 'git log -1 --output=M', touches: true },
  { id: 'S68', prefix: 'git', line: 'git diff --no-index --output=M a.txt b.txt', touches: true },
  { id: 'S70', prefix: 'git', line: "GIT_PAGER='touch M;cat' git -p log -1", touches: true },
  {
    id: 'S71',
    prefix: 'git',
    line: "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!touch M' git x",
    touches: true,
  },
  {
    id: 'S73',
    prefix: 'ls',
    line: "mkdir -p p; printf '#!/bin/sh\\ntouch M\\n' > p/ls; chmod +x p/ls; PATH=p:$PATH ls",
    touches: true,
  },
  { id: 'S74', prefix: 'ls', line: "printf '#!/bin/sh\\ntouch M\\n' > ls; chmod +x ls; ./ls", touches: true },
  { id: 'S76', prefix: 'echo', line: 'echo a#b; touch M', touches: true },
  { id: 'S77', prefix: 'echo', line: 'echo hi \\\n&& touch M', touches: true },
  { id: 'S79', prefix: 'echo', line: "echo 'hi\ntouch M'", touches: false },
  { id: 'S80', prefix: 'echo', line: 'coproc touch M; wait', touches: true },
  { id: 'S82', prefix: 'echo', line: 'echo hi > >(touch M; cat)', touches: true },
  { id: 'S83', prefix: 'echo', line: '{touch,M}', touches: true },
  {
    id: 'S85',
    prefix: 'tar',
    line: "echo a > f; tar cf t.tar --checkpoint=1 --checkpoint-action=exec='touch M' f",
    touches: true,
  },
  { id: 'S86', prefix: 'echo', line: 'echo hi\uff1b touch M', touches: false },
  { id: 'S88', prefix: 'python3', line: 'python3 -c \'open("M","w")\'', touches: true },
  { id: 'S89', prefix: 'git', line: 'gitx 2>/dev/null || true', touches: false },
  { id: 'S91', prefix: 'sudo', line: "printf 'touch M\\n' > s; . ./s", touches: true },
  { id: 'S92', prefix: 'echo', line: "let 'a[$(touch M)]=1'", touches: true },
  { id: 'S94', prefix: 'echo', line: "X='$(touch M)'; echo $X", touches: false },
  { id: 'S95', prefix: 'git', line: "PAGER='touch M;cat' git log -1", touches: true },
];

/** What rules that each allow one prefix say of a command line. */
export async function judgeBy(
  line: string,
  prefixes: readonly string[],
  more: Partial<PolicyRule> = {},
  mode = 'default',
) {
  const rules = prefixes.map(
    (commandPrefix): PolicyRule => ({
      toolName: 'run_shell_command',
      decision: 'allow',
      commandPrefix,
      ...more,
    }),
  );
  return judgeByRules(line, rules, mode);
}

export async function judgeByRules(line: string, rules: readonly PolicyRule[], mode = 'default') {
  const request = { action: 'run_shell_command', args: { command: line }, context: { mode } };
  const decision: PolicyDecision = await createPolicyEngine([{ rules, file: 'p' }]).evaluate(request);
  return decision;
}

export const outcomeBy = async (...asked: Parameters<typeof judgeBy>) => (await judgeBy(...asked)).outcome;
