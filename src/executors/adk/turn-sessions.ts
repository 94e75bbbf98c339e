import {
  type AppendEventRequest,
  BaseSessionService,
  createEvent,
  createSession,
  type Event,
  type ListSessionsResponse,
  type Session,
} from '@google/adk';
import type { Content } from '@google/genai';

/** The one session of a turn, made from the host's history: what ADK adds to it lasts as long as the turn. */
export class TurnSessions extends BaseSessionService {
  readonly session: Session;

  constructor(
    private readonly agentName: string,
    id: string,
    state: Record<string, unknown>,
    contents: readonly Content[],
  ) {
    super();
    const events = contents.map((content) => createEvent({ author: this.#authorOf(content), content }));
    this.session = createSession({ id, appName: 'troupe', userId: 'local', state, events, lastUpdateTime: Date.now() });
  }

  override createSession(): Promise<Session> {
    return Promise.resolve(this.session);
  }

  override getSession(): Promise<Session> {
    return Promise.resolve(this.session);
  }

  override listSessions(): Promise<ListSessionsResponse> {
    return Promise.resolve({ sessions: [this.session], page: 1, limit: 1, totalItems: 1, totalPages: 1 });
  }

  override deleteSession(): Promise<void> {
    return Promise.resolve();
  }

  override appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    // Answers are the agent's events in ADK; as the user's they would begin a new turn of the conversation.
    if (event.author === 'user') event.author = this.#authorOf(event.content);
    return super.appendEvent({ session, event });
  }

  #authorOf(content: Content | undefined): string {
    const isAnswer = content?.parts?.some(({ functionResponse }) => functionResponse !== undefined) === true;
    return content?.role === 'model' || isAnswer ? this.agentName : 'user';
  }
}
