import type { ActorRefFrom } from 'xstate';
import { assign, enqueueActions, sendTo, setup, spawnChild, stopChild } from 'xstate';
import { type EffectLogic, notProvided } from './agent-logic.js';
import { elicitationMachine } from './elicitation.machine.js';
import type {
  BehaviourInput,
  SessionContext,
  SessionEvent,
  SessionInput,
  SessionOutput,
  StopOrder,
} from './session.events.js';

/**
 * One session. A turn (or a composition's run) and a batch of tool calls are children that outlive the state they
 * were spawned in: a question may come up in any of them. What is spoken never passes through here, only what happens;
 * and what happens on every turn changes no context, which would cost as much again.
 */
export const sessionMachine = setup({
  types: {
    input: {} as SessionInput,
    context: {} as SessionContext,
    events: {} as SessionEvent,
    output: {} as SessionOutput,
  },
  actors: {
    turn: notProvided<EffectLogic<StopOrder, BehaviourInput>>('turn'),
    calls: notProvided<EffectLogic<StopOrder>>('calls'),
    delegation: notProvided<EffectLogic<StopOrder, BehaviourInput>>('delegation'),
    question: elicitationMachine,
  },
  guards: {
    endsWithRun: ({ context }, { endsSession }: { endsSession: boolean }) => context.oneRun || endsSession,
    isLastQuestionOfCalls: ({ context }) => context.questions === 1 && context.behind === 'calls',
    isLastQuestionOfTurn: ({ context }) => context.questions === 1 && context.behind === 'turn',
    isLastQuestion: ({ context }) => context.questions === 1,
  },
  actions: {
    beginTurn: enqueueActions(({ enqueue, context }) => {
      // Spawned, not invoked: the name of the logic comes from the descriptor.
      enqueue.spawnChild(context.behaviour as 'turn', { id: 'turn', input: behaviourInput({ context }) });
    }),
    endTurn: stopChild('turn'),
    beginCalls: spawnChild('calls', { id: 'calls', input: ({ context }) => ({ address: context.address }) }),
    endCalls: stopChild('calls'),
    beginDelegation: enqueueActions(({ enqueue, context, self }) => {
      if (!context.leads || self.getSnapshot().children.delegation !== undefined) return;
      enqueue.spawnChild('delegation', { id: 'delegation', input: behaviourInput({ context }) });
    }),
    stopTurn: sendTo('turn', { type: 'run.stop' }),
    stopCalls: sendTo('calls', { type: 'run.stop' }),
    stopWhatIsBehind: enqueueActions(({ enqueue, context }) => {
      if (context.behind !== 'nothing') enqueue.sendTo(context.behind, { type: 'run.stop' });
    }),
    isBehind: assign({ behind: (_, { what }: { what: SessionContext['behind'] }) => what }),
    openQuestion: enqueueActions(
      ({ enqueue, context }, { requestId, expiresAt }: { requestId: string; expiresAt: number | null }) => {
        enqueue.assign({ questions: context.questions + 1 });
        enqueue.spawnChild('question', {
          id: questionId(requestId),
          input: { address: context.address, requestId, expiresAt },
        });
      },
    ),
    closeQuestion: enqueueActions(
      ({ enqueue, context }, { requestId, answered }: { requestId: string; answered: boolean }) => {
        enqueue.assign({ questions: context.questions - 1 });
        enqueue.sendTo(questionId(requestId), { type: answered ? 'elicitation.answered' : 'elicitation.cancelled' });
        enqueue.stopChild(questionId(requestId));
      },
    ),
  },
}).createMachine({
  id: 'session',
  context: ({ input }) => ({ questions: 0, behind: 'nothing', ...input }),
  initial: 'idle',
  output: ({ event }) => event.output as SessionOutput,
  on: {
    'turn.ended': [
      { guard: { type: 'endsWithRun', params: ({ event }) => event }, target: '.ended' },
      { target: '.idle', actions: ['endTurn', 'endCalls'] },
    ],
  },
  states: {
    idle: {
      on: {
        'session.message': { target: 'running', actions: ['beginDelegation', 'beginTurn'] },
        'session.close': 'ended',
      },
    },
    running: {
      on: {
        'turn.needsTools': { target: 'awaitingTool', actions: ['endTurn', 'beginCalls'] },
        'turn.continued': { target: 'running', actions: ['endTurn', 'beginTurn'] },
        'question.asked': {
          target: 'awaitingElicitation',
          actions: [
            { type: 'isBehind', params: { what: 'turn' } },
            { type: 'openQuestion', params: ({ event }) => event },
          ],
        },
        'session.abort': { target: 'stopping', actions: 'stopTurn' },
      },
    },
    awaitingTool: {
      on: {
        'calls.settled': { target: 'running', actions: ['endCalls', 'beginTurn'] },
        'question.asked': {
          target: 'awaitingElicitation',
          actions: [
            { type: 'isBehind', params: { what: 'calls' } },
            { type: 'openQuestion', params: ({ event }) => event },
          ],
        },
        'session.abort': { target: 'stopping', actions: 'stopCalls' },
      },
    },
    awaitingElicitation: {
      on: {
        'question.asked': { actions: { type: 'openQuestion', params: ({ event }) => event } },
        'question.settled': [
          {
            guard: 'isLastQuestionOfCalls',
            target: 'awaitingTool',
            actions: { type: 'closeQuestion', params: ({ event }) => event },
          },
          {
            guard: 'isLastQuestionOfTurn',
            target: 'running',
            actions: { type: 'closeQuestion', params: ({ event }) => event },
          },
          {
            guard: 'isLastQuestion',
            target: 'running',
            actions: [{ type: 'closeQuestion', params: ({ event }) => event }, 'beginTurn'],
          },
          { actions: { type: 'closeQuestion', params: ({ event }) => event } },
        ],
        'turn.needsTools': {
          actions: ['endTurn', 'beginCalls', { type: 'isBehind', params: { what: 'calls' } }],
        },
        'turn.needsAnswers': { actions: ['endTurn', { type: 'isBehind', params: { what: 'nothing' } }] },
        'turn.continued': { actions: ['endTurn', 'beginTurn'] },
        'calls.settled': { actions: ['endCalls', { type: 'isBehind', params: { what: 'nothing' } }] },
        'session.abort': { target: 'stopping', actions: 'stopWhatIsBehind' },
      },
    },
    stopping: {
      on: {
        'question.asked': { actions: { type: 'openQuestion', params: ({ event }) => event } },
        'question.settled': { actions: { type: 'closeQuestion', params: ({ event }) => event } },
      },
    },
    ended: { type: 'final', output: ({ event }) => ({ reason: 'reason' in event ? event.reason : 'aborted' }) },
  },
});

const behaviourInput = ({ context }: { context: SessionContext }): BehaviourInput => ({
  address: context.address,
  plan: context.plan,
});

const questionId = (requestId: string) => `question:${requestId}`;

export type SessionRef = ActorRefFrom<typeof sessionMachine>;
