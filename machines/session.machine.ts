import type { ActorRefFrom } from 'xstate';
import { assign, enqueueActions, setup } from 'xstate';
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
 * One session. A turn, a composition's run and a batch of tool calls are children that outlive the state they were
 * spawned in: a question may come up in any of them. What is spoken never passes through here, only what happens.
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
    isLastQuestion: ({ context }) => context.questions === 1,
    isLastQuestionOfCalls: ({ context }) => context.questions === 1 && context.isCalling,
    isLastQuestionOfTurn: ({ context }) => context.questions === 1 && context.isTurning,
  },
  actions: {
    beginTurn: enqueueActions(({ enqueue, context }) => {
      enqueue.assign({ isTurning: true });
      // Spawned, not invoked: the name of the logic comes from the descriptor.
      enqueue.spawnChild(context.behaviour as 'turn', {
        id: 'turn',
        input: { address: context.address, plan: context.plan },
      });
    }),
    endTurn: enqueueActions(({ enqueue }) => {
      enqueue.assign({ isTurning: false });
      enqueue.stopChild('turn');
    }),
    beginCalls: enqueueActions(({ enqueue, context }) => {
      enqueue.assign({ isCalling: true });
      enqueue.spawnChild('calls', { id: 'calls', input: { address: context.address } });
    }),
    endCalls: enqueueActions(({ enqueue }) => {
      enqueue.assign({ isCalling: false });
      enqueue.stopChild('calls');
    }),
    stopRun: enqueueActions(({ enqueue, context }) => {
      if (context.isTurning) enqueue.sendTo('turn', { type: 'run.stop' });
      if (context.isCalling) enqueue.sendTo('calls', { type: 'run.stop' });
    }),
    beginDelegation: enqueueActions(({ enqueue, context }) => {
      if (context.leads)
        enqueue.spawnChild('delegation', { id: 'delegation', input: { address: context.address, plan: context.plan } });
    }),
    openQuestion: enqueueActions(({ enqueue, context, event }) => {
      if (event.type !== 'question.asked') return;
      const { requestId, expiresAt } = event;
      enqueue.assign({ questions: context.questions + 1 });
      enqueue.spawnChild('question', {
        id: questionId(requestId),
        input: { address: context.address, requestId, expiresAt },
      });
    }),
    closeQuestion: enqueueActions(({ enqueue, context, event }) => {
      if (event.type !== 'question.settled') return;
      enqueue.assign({ questions: context.questions - 1 });
      enqueue.sendTo(questionId(event.requestId), {
        type: event.answered ? 'elicitation.answered' : 'elicitation.cancelled',
      });
      enqueue.stopChild(questionId(event.requestId));
    }),
    keepReason: assign({ reason: (_, { reason }: { reason: string }) => reason }),
  },
}).createMachine({
  id: 'session',
  context: ({ input }) => ({
    ...input,
    isTurning: false,
    isCalling: false,
    questions: 0,
    reason: 'completed',
  }),
  entry: 'beginDelegation',
  initial: 'idle',
  output: ({ context }) => ({ reason: context.reason }),
  on: {
    'turn.ended': [
      {
        guard: { type: 'endsWithRun', params: ({ event }) => ({ endsSession: event.endsSession }) },
        target: '.ended',
        actions: ['endTurn', 'endCalls', { type: 'keepReason', params: ({ event }) => ({ reason: event.reason }) }],
      },
      { target: '.idle', actions: ['endTurn', 'endCalls'] },
    ],
    'question.asked': { target: '.awaitingElicitation', actions: 'openQuestion' },
  },
  states: {
    idle: {
      on: {
        'session.message': { target: 'running', actions: 'beginTurn' },
        'session.close': {
          target: 'ended',
          actions: { type: 'keepReason', params: ({ event }) => ({ reason: event.reason }) },
        },
      },
    },
    running: {
      on: {
        'turn.needsTools': { target: 'awaitingTool', actions: ['endTurn', 'beginCalls'] },
        'turn.continued': { target: 'running', actions: ['endTurn', 'beginTurn'] },
        'session.abort': 'stopping',
      },
    },
    awaitingTool: {
      on: {
        'calls.settled': { target: 'running', actions: ['endCalls', 'beginTurn'] },
        'session.abort': 'stopping',
      },
    },
    awaitingElicitation: {
      on: {
        'question.settled': [
          { guard: 'isLastQuestionOfCalls', target: 'awaitingTool', actions: 'closeQuestion' },
          { guard: 'isLastQuestionOfTurn', target: 'running', actions: 'closeQuestion' },
          { guard: 'isLastQuestion', target: 'running', actions: ['closeQuestion', 'beginTurn'] },
          { actions: 'closeQuestion' },
        ],
        'turn.needsTools': { actions: ['endTurn', 'beginCalls'] },
        'turn.needsAnswers': { actions: 'endTurn' },
        'turn.continued': { actions: ['endTurn', 'beginTurn'] },
        'calls.settled': { actions: 'endCalls' },
        'session.abort': 'stopping',
      },
    },
    stopping: {
      entry: 'stopRun',
      on: {
        'question.settled': { actions: 'closeQuestion' },
        'question.asked': { actions: 'openQuestion' },
      },
    },
    ended: { type: 'final' },
  },
});

const questionId = (requestId: string) => `question:${requestId}`;

export type SessionRef = ActorRefFrom<typeof sessionMachine>;
