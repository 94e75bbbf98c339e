import { env } from 'node:process';

const NAMES = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i;
const SHORTEST = 8;

/** Forms in which providers hand out keys and tokens. */
const FORMS: readonly RegExp[] = [
  /\bsk-[A-Za-z0-9_-]{16,}/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bya29\.[A-Za-z0-9._-]{20,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /\bAKIA[A-Z0-9]{16}\b/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+/g,
  /(?<=\b[Bb]earer )[A-Za-z0-9._~+/-]{16,}=*/g,
];

const MARK = '[secret]';

/**
 * JSON text with keys and tokens replaced: those that this process has in its environment (variables whose name says so),
 * and whatever has the form of one. Other secrets stay: look before a recording is shared.
 */
export function withoutSecrets(json: string): string {
  let text = json;
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value.length < SHORTEST || !NAMES.test(name)) continue;
    text = text.replaceAll(JSON.stringify(value).slice(1, -1), MARK);
  }
  for (const form of FORMS) text = text.replace(form, MARK);
  return text;
}
