import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { hierarchical } from '../../src/define/hierarchical.js';
import { loop } from '../../src/define/loop.js';
import { parallel } from '../../src/define/parallel.js';
import { sequential } from '../../src/define/sequential.js';
import { transfer } from '../../src/define/transfer.js';

const one = (name: string, more: object = {}) => agent({ name, description: `${name} works.`, ...more } as never);

/** Every pattern once, nested. */
export const sampleTeam = sequential({
  name: 'report',
  description: 'Reports.',
  children: [
    parallel({
      name: 'gather',
      children: [
        one('researcher', { model: 'gemini/gemini-flash-latest', tools: ['read_file', 'glob'] }),
        one('skeptic'),
      ],
    }),
    loop({ name: 'polish', children: [one('writer'), one('critic')], maxIterations: 3 }),
    hierarchical({ name: 'team', agent: one('lead'), children: [one('helper'), one('end', { executor: 'remote' })] }),
    transfer({
      name: 'desk',
      members: [one('triage'), one('billing')],
      start: 'triage',
      targets: { triage: ['billing'] },
    } as never),
  ] as never,
}) as unknown as AgentDefinition;
