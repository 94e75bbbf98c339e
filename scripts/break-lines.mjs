// Begins a line with every statement of the compiled package. Where nobody catches an error, Node shows the whole line
// that threw it: without this it would be some fifty kilobytes of code before the message.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/** What holds statements, or the members of a class, between braces: a line may end before each of them. */
const BODIES = new Set(['Program', 'BlockStatement', 'FunctionBody', 'StaticBlock', 'ClassBody']);

/** @param {string} folder */
export function breakLines(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.js') && !/[\\/]web[\\/]/.test(name))) {
    const path = join(folder, file);
    const code = readFileSync(path, 'utf8');
    const starts = new Set();
    collect(parseAst(code, { lang: 'js' }), starts);
    const lines = [
      0,
      ...[...starts].sort((one, other) => one - other).filter((start) => code[start - 1] !== '\n' && start > 0),
    ];
    writeFileSync(path, lines.map((start, at) => code.slice(start, lines[at + 1])).join('\n'));
  }
}

/**
 * @param {unknown} node
 * @param {Set<number>} starts
 */
function collect(node, starts) {
  if (Array.isArray(node)) {
    for (const one of node) collect(one, starts);
  } else if (typeof node === 'object' && node !== null) {
    const { type, body, consequent } = /** @type {{ type?: string, body?: unknown, consequent?: unknown }} */ (node);
    const inside = BODIES.has(type ?? '') ? body : type === 'SwitchCase' ? consequent : undefined;
    if (Array.isArray(inside)) for (const { start } of inside) starts.add(start);
    for (const value of Object.values(node)) collect(value, starts);
  }
}
