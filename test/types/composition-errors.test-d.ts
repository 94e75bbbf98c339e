import { z } from 'zod';
import { agent } from '../../src/define/agent.js';
import { hierarchical } from '../../src/define/hierarchical.js';
import { loop } from '../../src/define/loop.js';
import { parallel } from '../../src/define/parallel.js';
import { sequential } from '../../src/define/sequential.js';
import { transfer } from '../../src/define/transfer.js';

const writer = agent({ name: 'writer', outputKey: 'draft' });
const critic = agent({ name: 'critic', outputSchema: z.object({ ok: z.boolean() }) });
const inner = parallel({ name: 'inner', children: [writer, critic] });

// Names in a transfer.
// @ts-expect-error the start is no member
transfer({ name: 't', members: [writer, critic], start: 'editor' });
// @ts-expect-error a target is no member
transfer({ name: 't', members: [writer, critic], start: 'writer', targets: { writer: ['editor'] } });
// @ts-expect-error nobody of that name hands over
transfer({ name: 't', members: [writer, critic], start: 'writer', targets: { editor: ['critic'] } });

// Names in mapInput and supervise.
// @ts-expect-error no child has that name
sequential({ name: 's', children: [writer, critic], mapInput: (child) => (child === 'editor' ? 'x' : undefined) });
// @ts-expect-error no child has that name
sequential({ name: 's', children: [writer, critic], supervise: { children: { editor: { restart: 'on_failure' } } } });
// @ts-expect-error a grandchild is supervised by its own parent
sequential({ name: 's', children: [inner], supervise: { children: { writer: { restart: 'on_failure' } } } });

// Fields of results, of `last`, and state keys.
// @ts-expect-error nobody is called editor
sequential({ name: 's', children: [writer, critic], mapInput: (_, { results }) => results.editor });
// @ts-expect-error the critic gives { ok }
sequential({ name: 's', children: [writer, critic], mapInput: (_, { results }) => results.critic?.okay });
// @ts-expect-error through a nested composition: the critic gives { ok }
sequential({ name: 's', children: [inner], mapInput: (_, { results }) => results.inner?.critic?.okay });
// @ts-expect-error a result may be absent
sequential({ name: 's', children: [writer, critic], mapInput: (_, { results }) => results.critic.ok });
// @ts-expect-error the last child gives { ok }
loop({ name: 'l', children: [writer, critic], maxIterations: 3, until: ({ last }) => last.done });
// @ts-expect-error the last child gives text
loop({ name: 'l', children: [critic, writer], maxIterations: 3, until: ({ last }) => last.ok });
// @ts-expect-error nothing declares that key
loop({ name: 'l', children: [writer, critic], maxIterations: 3, until: ({ state }) => state.rounds === 3 });
// @ts-expect-error a key of the wrong type
loop({ name: 'l', children: [writer], maxIterations: 3, until: ({ state }) => state.draft === 3 });
// @ts-expect-error state is read here, not written
loop({ name: 'l', children: [writer], maxIterations: 3, until: ({ state }) => delete state.draft });
// @ts-expect-error nothing below declares that key
sequential({ name: 's', children: [inner], mapInput: (_, { state }) => state.rounds });
// @ts-expect-error a composition's own input is text unless it says otherwise
sequential({ name: 's', children: [inner], mapInput: (_, { input }) => input.topic });
sequential({
  name: 's',
  children: [inner],
  // @ts-expect-error the reducer's values are those of `initial`
  state: { best: { initial: { score: 0 }, reducer: (_, update) => update.points } },
});

// Names that stand twice.
// @ts-expect-error the same child
sequential({ name: 's', children: [writer, critic, writer] });
// @ts-expect-error two agents of one name
parallel({ name: 'p', children: [writer, agent({ name: 'writer' })] });
// @ts-expect-error the composition has the name of its child
loop({ name: 'writer', children: [writer], maxIterations: 1 });
// @ts-expect-error one of them lies deeper
sequential({ name: 's', children: [inner, writer] });
// @ts-expect-error both lie deeper
sequential({ name: 's', children: [inner, loop({ name: 'again', children: [critic], maxIterations: 2 })] });
// @ts-expect-error an agent beside a composition, two levels down
sequential({ name: 's', children: [sequential({ name: 'mid', children: [agent({ name: 'x' }), inner] }), critic] });
// @ts-expect-error a member
transfer({ name: 't', members: [writer, writer], start: 'writer' });
// @ts-expect-error the leader is no child of its own
hierarchical({ name: 'h', agent: critic, children: [inner] });

// Options that are missing, unknown or of the wrong kind.
// @ts-expect-error a loop has a bound
loop({ name: 'l', children: [writer] });
// @ts-expect-error a transfer has a start
transfer({ name: 't', members: [writer] });
// @ts-expect-error somebody leads
hierarchical({ name: 'h', children: [writer] });
// @ts-expect-error a typing error in a key
parallel({ name: 'p', children: [writer], concurency: 3 });
// @ts-expect-error a child is an agent
parallel({ name: 'p', children: ['writer'] });
// @ts-expect-error a condition
loop({ name: 'l', children: [writer], maxIterations: 3, until: () => 'yes' });
// @ts-expect-error a quorum is a number
parallel({ name: 'p', children: [writer], join: { quorum: 'most' } });
