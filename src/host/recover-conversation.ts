import type { AgentEvent, ModelMessage } from '../contracts/index.js';
import { projectConversation } from '../kernel/handover.js';
import { createHistory, type History } from '../kernel/history.js';
import { parentThreadId } from '../kernel/thread-id.js';
import { newCrewState } from './crew-state.js';
import { noteInHistory } from './session-tree.js';
import type { CompiledAgent, Thread } from './thread.js';

/** Rebuilds the conversation of a transfer from its log. */
export interface ConversationFold {
  take(event: AgentEvent): void;
  /** A run begins. */
  mark(): void;
  /** Gives a root the conversation as it is now, or as it was before the run that began last. */
  apply(root: Thread, as: 'now' | 'beforeRun'): void;
}

interface Member {
  readonly threadId: string;
  readonly agent: CompiledAgent | undefined;
  readonly index: number;
  readonly history: History;
  result: unknown;
}

export function createConversationFold(agent: CompiledAgent): ConversationFold {
  const conversation: ModelMessage[] = [];
  let view: ModelMessage[] | undefined;
  let member: Member | undefined;
  let active = -1;
  let isHandedOver = false;
  let before: { said: number; view: ModelMessage[] | undefined; active: number } = { said: 0, view: undefined, active };

  function begin({ threadId, agentName, _meta }: AgentEvent<'agent_started'>): void {
    // One that was started again has said nothing.
    if (_meta?.restartOf === undefined) settle();
    const index = agent.children.findIndex((child) => child.definition.name === agentName);
    member = { threadId, agent: agent.children[index], index, history: createHistory(), result: undefined };
    active = index;
  }

  /** What the member said joins the conversation. A composition has no history of its own: its result is what it said. */
  function settle(): void {
    if (member === undefined) return;
    const said = member.history.messages();
    const { result } = member;
    if (member.agent?.behaviour !== 'turn' && result !== undefined) {
      const text = typeof result === 'string' ? result : JSON.stringify(result);
      said.push({ role: 'model', content: [{ type: 'text', text }] });
    }
    conversation.push(...said);
    view?.push(...said);
    member = undefined;
  }

  /** What a member that takes over is shown is a projection of the conversation so far. */
  function show(data: unknown): void {
    if (!isHandedOver) return;
    isHandedOver = false;
    const { summary } = (data ?? {}) as { summary?: unknown };
    view = projectConversation(conversation, {
      contract: agent.descriptor.composition?.context,
      filter: agent.definition.behaviour?.contextFilter,
      summary: typeof summary === 'string' ? summary : undefined,
    });
  }

  return {
    take(event) {
      const { threadId } = event;
      if (threadId === undefined) {
        if (event.type === 'agent_transfer') isHandedOver = true;
        if (event.type === 'stream_end') {
          settle();
          isHandedOver = false;
        }
        return;
      }
      if (event.type === 'agent_started' && parentThreadId(threadId) === undefined) return begin(event);
      if (member === undefined || member.threadId !== threadId) return;
      if (event.type === 'agent_completed') member.result = event.result;
      else if (event.type === 'custom' && event.kind === 'context') show(event.data);
      else noteInHistory(member.history, event, member.agent?.driver.name ?? '');
    },
    mark() {
      before = { said: conversation.length, view: view?.slice(), active };
    },
    apply(root, as) {
      root.crew =
        as === 'now'
          ? { ...newCrewState(), conversation, view, activeMember: active }
          : {
              ...newCrewState(),
              conversation: conversation.slice(0, before.said),
              view: before.view,
              activeMember: before.active,
            };
    },
  };
}
