import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, open, readFile, realpath, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { describeError, TroupeError } from '../kernel/errors.js';
import { canonicalJson } from '../kernel/json-value.js';
import type { PolicyRule, PolicyRuleSet } from '../kernel/policy-rules.js';
import { withFileLock } from './file-lock.js';
import { policyFromToml } from './toml.js';

/** The rules of the user's own file; none where there is no file yet. Throws `POLICY_INVALID` for one that does not load. */
export function readUserFile(file: string): PolicyRuleSet {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return { rules: [], tier: 'user', file };
    const { message } = describeError(thrown);
    throw new TroupeError({ code: 'POLICY_INVALID', message: `${file} cannot be read: ${message}` });
  }
  return policyFromToml(text, { tier: 'user', file });
}

/**
 * Adds to the user's file those rules that it lacks, and leaves the rest of it as it is. The file is replaced at once
 * and whole, for its owner only (0600); of several who write, in this process or others, each finds what the one before
 * wrote. Rejects when the file as it stands, or as it would stand, does not load; then nothing has changed.
 */
export async function appendRules(file: string, rules: readonly PolicyRule[]): Promise<void> {
  const given = resolve(file);
  await mkdir(dirname(given), { recursive: true, mode: 0o700 });
  // A file that is a link elsewhere stays one.
  const target = await realpath(given).catch(() => given);
  await withFileLock(`${target}.lock`, async (stillOurs) => {
    const before = await readFile(target, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === 'ENOENT') return '';
      throw thrown;
    });
    const known = new Set(policyFromToml(before, { tier: 'user', file }).rules.map(canonicalJson));
    const missing = rules.filter((rule) => !known.has(canonicalJson(rule)));
    if (missing.length === 0) return;
    const separator = before === '' ? '' : before.endsWith('\n') ? '\n' : '\n\n';
    const after = `${before}${separator}${missing.map(ruleText).join('\n')}`;
    const read = policyFromToml(after, { tier: 'user', file }).rules.map(canonicalJson);
    if (!missing.every((rule) => read.includes(canonicalJson(rule)))) {
      throw new TroupeError({ code: 'POLICY_INVALID', message: `${file}: the rule cannot be written as TOML` });
    }
    await replaceFile(target, after, stillOurs);
  });
}

async function replaceFile(target: string, text: string, stillOurs: () => Promise<boolean>): Promise<void> {
  const beside = `${target}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    const handle = await open(beside, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (!(await stillOurs())) {
      throw new TroupeError({ code: 'POLICY_INVALID', message: `${target} was locked by another process meanwhile` });
    }
    await rename(beside, target);
  } catch (thrown) {
    await rm(beside, { force: true });
    throw thrown;
  }
}

function ruleText(rule: PolicyRule): string {
  const lines = Object.entries(rule).map(([key, value]) => `${key} = ${valueText(value)}`);
  return `[[rules]]\n${lines.join('\n')}\n`;
}

// A text of JSON is one of TOML, save for one character that TOML wants escaped.
const valueText = (value: unknown): string => JSON.stringify(value).replaceAll('\u007f', '\\u007f');
