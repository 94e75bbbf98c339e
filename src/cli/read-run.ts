import { readFile } from 'node:fs/promises';
import type { OpenAgentEvent } from '../contracts/index.js';
import { createRunModel, type RunModel } from '../kernel/run-model.js';
import { badUse } from './report-error.js';

/** The model of a run that was kept as JSON lines. A last line that was cut off is left out; any other fault is told. */
export async function readRun(path: string): Promise<RunModel> {
  const text = await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    throw badUse(`${path} cannot be read: ${thrown.code === 'ENOENT' ? 'there is no such file' : thrown.code}`);
  });
  const { model, fold } = createRunModel();
  const lines = text.split('\n');
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const event = eventIn(line);
    if (event !== undefined) fold(event);
    else if (index < lines.length - 1)
      throw badUse(`${path}:${index + 1} is no event of a run; troupe run --json prints them`);
  }
  return model;
}

function eventIn(line: string): OpenAgentEvent | undefined {
  try {
    const event: unknown = JSON.parse(line);
    const isEvent =
      typeof event === 'object' && event !== null && 'type' in event && 'timestamp' in event && 'seq' in event;
    return isEvent ? (event as OpenAgentEvent) : undefined;
  } catch {
    return undefined;
  }
}
