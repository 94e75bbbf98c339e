import type { AgentEvent } from 'troupe';

/** How the report came about: each draft of the writer, and what the critic said of it. */
export interface Drafts {
  see(event: AgentEvent): void;
  latest(): string | undefined;
  /** A line for each draft, and for each objection to it. */
  story(): string[];
}

export function draftsOf(): Drafts {
  const drafts: { text: string; verdict: string[] }[] = [];
  return {
    see(event) {
      if (event.type !== 'agent_completed') return;
      const said = typeof event.result === 'string' ? event.result.trim() : '';
      if (event.agentName === 'writer' && said !== '') drafts.push({ text: said, verdict: [] });
      if (event.agentName === 'critic') drafts.at(-1)?.verdict.push(...said.split('\n').filter((line) => line !== ''));
    },
    latest: () => drafts.at(-1)?.text,
    story: () =>
      drafts.flatMap(({ text, verdict }, at) => [
        `Draft ${at + 1}, ${text.split('\n').length} lines: ${verdict.length === 0 ? 'the critic has no objections' : 'the critic objects'}`,
        ...verdict.map((line) => `  ${line}`),
      ]),
  };
}
