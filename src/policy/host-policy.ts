import type { PolicyEvaluator } from '../contracts/index.js';
import type { PolicyRuleSet, SavedRules } from '../kernel/policy-rules.js';
import { createPolicyEngine, type PolicyEngine } from './engine.js';
import { appendRules, readUserFile } from './user-file.js';

/** A host's policy, and where it keeps what a person wants to be kept. Throws `POLICY_INVALID` with every fault. */
export function createHostPolicy(options: {
  readonly policy?: readonly (PolicyRuleSet | PolicyEvaluator)[];
  readonly userPolicyFile?: string;
  readonly trust?: boolean;
}): { readonly evaluator: PolicyEvaluator; readonly savedRules: SavedRules | undefined } {
  const { policy = [], userPolicyFile: file, trust: trusted = true } = options;
  if (file === undefined) return { evaluator: createPolicyEngine(policy, { trusted }), savedRules: undefined };
  const engine = createPolicyEngine([...policy, readUserFile(file)], { trusted });
  return { evaluator: engine, savedRules: createSavedRules(engine, file) };
}

function createSavedRules(engine: PolicyEngine, file: string): SavedRules {
  const added = new Set<string>();
  return {
    offer: (request) => engine.alwaysRules(request).catch(() => undefined),
    async save(rules) {
      await appendRules(file, rules);
      const missing = rules.filter((rule) => !added.has(JSON.stringify(rule)));
      for (const rule of missing) added.add(JSON.stringify(rule));
      if (missing.length > 0) engine.add({ rules: missing, tier: 'user', file: `${file}, saved` });
    },
  };
}
