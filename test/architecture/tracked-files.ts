import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { root } from './import-graph.js';

/**
 * Paths from the root of all files that git tracks and that are still there, forward slashes. In a copy without git: of
 * all files that are not installed or built.
 */
export function trackedFiles(): string[] {
  if (!existsSync(join(root, '.git'))) {
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .filter((file) => !/(^|\/)(node_modules|dist[^/]*|coverage)\//.test(file));
  }
  return execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '' && statSync(join(root, file), { throwIfNoEntry: false })?.isFile());
}

/** The text of a tracked file, or nothing when it holds a NUL byte. */
export function textOf(file: string): string | undefined {
  const text = readFileSync(join(root, file), 'utf8');
  return text.includes('\0') ? undefined : text;
}

/** Names that say nothing about what a file is for. */
const vague = /(^|[-._/])(utils?|helpers?|managers?|services?|common|misc)([-._/]|$)/;

/** What is wrong with a file's name, or nothing. Folders count as well. */
export function nameProblem(file: string): string | undefined {
  const hit = vague.exec(file.replace(/\.[a-z]+$/, ''));
  if (hit) return `${file}: "${hit[2]}" says nothing about what it is for`;
  if (/[A-Z ]/.test(file)) return `${file}: files are kebab-case`;
  return undefined;
}

// In pieces, so that this file does not hold what it looks for.
const places = ['work', 'root', 'farm', ['opt', 'venv'].join('/'), ['tmp', 'bash_jobs'].join('/')];
const homes = ['home', 'Users'].map((folder) => `${folder}/(?!me/|you/|user/|alice/|bob/)[a-z0-9_-]+`);
const machinePath = new RegExp(`(?<![.a-zA-Z0-9])/(${[...places, ...homes].join('|')})[./]`);

/** The paths of one person's machine in a text, one line each: `file:line: the path`. */
export function machinePaths(file: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const hit = machinePath.exec(line);
    return hit ? [`${file}:${index + 1}: ${line.slice(hit.index, hit.index + 40)}`] : [];
  });
}
