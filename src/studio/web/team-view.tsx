import type { ReactNode } from 'react';
import type { AgentFigures, RunModel } from '../../kernel/run-model.js';
import { DrawingView } from './drawing-view.js';
import { costText, countText, durationText } from './figures.js';
import type { SessionFeed } from './session-feed.js';

export interface TeamViewProps {
  readonly feed: SessionFeed;
  readonly model: RunModel;
  readonly onThread: (threadId: string) => void;
}

/** The plan of the team with the run laid over it. */
export function TeamView({ feed, model, onThread }: TeamViewProps): ReactNode {
  const team = feed.plan?.team;
  if (feed.plan === undefined) return <p className="empty">The team is being drawn…</p>;
  if (team === undefined)
    return (
      <p className="empty">
        This host does not know the agent of this session, so there is no plan of it: give <code>createHost</code> its{' '}
        <code>agents</code>.
      </p>
    );
  const open = (agentName: string) => {
    const ids = Object.keys(model.threads).filter((id) => model.threads[id]?.agentName === agentName);
    const id = ids.find((one) => Object.hasOwn(model.live, one)) ?? ids.at(-1);
    if (id !== undefined) onThread(id);
  };
  return (
    <DrawingView
      source={team}
      label="Plan of the team and how far it has come"
      update={(svg) => overlay(svg, model)}
      onRef={open}
    />
  );
}

const STANDINGS = ['waiting', 'running', 'failed', 'stopped', 'completed'] as const;

function overlay(svg: SVGSVGElement, { agents }: RunModel): void {
  for (const box of svg.querySelectorAll('[data-ref]')) {
    const name = box.getAttribute('data-runs-as') ?? box.getAttribute('data-ref') ?? '';
    const figures = Object.hasOwn(agents, name) ? agents[name] : undefined;
    const standing = STANDINGS.find((one) => (figures?.[one] ?? 0) > 0) ?? 'idle';
    for (const one of [...STANDINGS, 'idle']) box.classList.toggle(`is-${one}`, one === standing);
    const notes = [...box.children].filter((child) => child.classList.contains('detail')).slice(-2);
    const said = notesOf(figures);
    for (const [at, note] of notes.entries()) if (note.textContent !== said[at]) note.textContent = said[at] ?? '';
  }
}

/** What the two lines that a box keeps free for it say of an agent. */
export function notesOf(figures: AgentFigures | undefined): readonly [string, string] {
  if (figures === undefined) return ['has not run', ''];
  const states = STANDINGS.filter((one) => figures[one] > 0);
  const said = states.length === 1 ? states.join() : states.map((one) => `${figures[one]} ${one}`).join(', ');
  const tokens = figures.usage.inputTokens + figures.usage.outputTokens;
  const spent = [
    ...(tokens === 0 ? [] : [countText(tokens)]),
    ...(figures.usage.usd === undefined ? [] : [costText(figures.usage)]),
    ...(figures.ms === 0 ? [] : [durationText(figures.ms)]),
  ];
  return [figures.runs > 1 && states.length === 1 ? `${figures.runs} × ${said}` : said, spent.join(' · ')];
}
