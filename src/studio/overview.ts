import type { HostInspection } from '../host/inspection.js';
import type { RemoteStudio } from './remote-studio.js';
import type { HostOverview, Overview, SessionOverview } from './wire.js';

const MOST_SESSIONS = 2_000;

/** Every session of every host, open or stored, newest first; those of other processes behind our own. */
export async function overviewOf(
  inspections: ReadonlyMap<string, HostInspection>,
  remotes: readonly RemoteStudio[],
): Promise<Overview> {
  const own = Promise.all([...inspections].map(([id, inspection]) => hostOverview(id, inspection)));
  const others = Promise.all(remotes.map((remote) => remote.overview()));
  return { hosts: [...(await own), ...(await others).flat()] };
}

async function hostOverview(id: string, inspection: HostInspection): Promise<HostOverview> {
  const { host, name } = inspection;
  const open = new Map(inspection.open().map((one) => [one.sessionId, one]));
  const stored = await host.list().catch(() => []);
  const sessions = stored.slice(0, MOST_SESSIONS).map((summary): SessionOverview => {
    const live = open.get(summary.id);
    open.delete(summary.id);
    return {
      ...summary,
      isLive: live !== undefined,
      isRunning: live?.isRunning ?? false,
      pending: live?.questions.length ?? 0,
      questions: live?.questions ?? [],
    };
  });
  // Ephemeral ones are in no store.
  const others = [...open.values()].map(
    ({ sessionId, agentName, isRunning, questions, lastSeq }): SessionOverview => ({
      id: sessionId,
      agentName,
      lastUpdateTime: new Date().toISOString(),
      eventCount: lastSeq,
      isLive: true,
      isRunning,
      pending: questions.length,
      questions,
    }),
  );
  const agents = inspection.agents().map((agent) => host.describe(agent));
  return { id, name, agents, sessions: [...others, ...sessions], can: ['control', 'fork', 'rewind', 'start'] };
}
