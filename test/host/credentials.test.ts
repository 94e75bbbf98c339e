import { expect, test, vi } from 'vitest';
import type { CredentialStore } from '../../src/contracts/index.js';
import { agent, createHost, memoryStore, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { logOf, ofType } from '../support/team.js';
import { calls, runDesk, textOf } from './tool-desk.js';

const SECRET = 'sk-1234-the-secret';

/** Asks for a credential unless there is one, and says whether it has it. */
const useHub = tool({
  name: 'use_hub',
  description: 'Uses the hub.',
  annotations: { readOnly: true },
  async execute(_, { credentials, elicit }) {
    if ((await credentials.get('hub')) !== undefined) return 'known';
    const { action } = await elicit({
      kind: 'auth_required',
      message: 'sign in',
      context: { provider: 'hub', scopes: ['read'], url: 'https://hub.example/login' },
      requestedSchema: { type: 'object', properties: { credential: { type: 'string' } }, required: ['credential'] },
    });
    return `${action}: ${(await credentials.get('hub')) === SECRET}`;
  },
});
const accept = { action: 'accept', content: { credential: SECRET }, _meta: { note: SECRET } };

test('a credential is kept for the tools of its user, and asked for once', async () => {
  const model = scriptedModel(Array.from({ length: 3 }, () => [calls('use_hub'), { text: 'done' }]).flat());
  await using host = createHost({ models: { scripted: model } });
  const desk = agent({ name: 'desk', tools: [useHub] });
  const said: string[] = [];
  const asked: unknown[] = [];
  for (const userId of ['ann', 'ann', 'bob']) {
    const run = host.run(desk, 'go', { userId });
    for await (const event of run) {
      if (event.type === 'elicitation_request') {
        asked.push(userId, event.context?.provider);
        run.respond(event.requestId, accept);
      }
      if (event.type === 'tool_response') said.push(textOf(event));
    }
  }
  expect(said).toEqual(['accept: true', 'known', 'accept: true']);
  expect(asked).toEqual(['ann', 'hub', 'bob', 'hub']);
});

test('a credential is in no event, no log, no message to a model, nothing that is inspected', async () => {
  const seen: unknown[] = [];
  const store = memoryStore();
  const kept = new Map<string, unknown>();
  const credentials: CredentialStore = {
    get: ({ provider }) => kept.get(provider) as string | undefined,
    set: async ({ provider }, credential) => void kept.set(provider, credential),
    delete: ({ provider }) => void kept.delete(provider),
  };
  const host = {
    store,
    credentials,
    inspect: (event: object) => {
      for (const value of Object.values(event)) seen.push(shown(value));
    },
  };
  const { events, model, result } = await runDesk({ own: [useHub], host, script: [calls('use_hub')], answer: accept });
  expect(textOf(ofType(events, 'tool_response')[0])).toBe('accept: true');
  expect(kept.get('hub')).toBe(SECRET);
  const everything = JSON.stringify([
    events,
    await logOf(store, result.sessionId),
    model.requests.map(shown),
    result,
    seen,
  ]);
  expect(everything).toContain('sign in');
  expect(everything).not.toContain(SECRET);
  expect(ofType(events, 'elicitation_response')).toMatchObject([{ action: 'accept', content: { withheld: true } }]);
});

test('what is refused says nothing of it, nor does who answers and fails', async () => {
  const told: unknown[] = [];
  const refused = await runDesk({
    own: [useHub],
    script: [calls('use_hub')],
    onEvent(event, run) {
      if (event.type !== 'elicitation_request') return;
      for (const content of [{ credential: [SECRET] }, { other: SECRET }]) {
        try {
          run.respond(event.requestId, { action: 'accept', content });
        } catch (thrown) {
          told.push((thrown as Error).message);
        }
      }
      run.respond(event.requestId, { action: 'decline', content: { reason: SECRET } });
    },
  });
  const failed = await runDesk({
    own: [useHub],
    script: [calls('use_hub')],
    host: {
      elicitation: () => {
        throw new Error(`cannot use ${SECRET}`);
      },
    },
  });
  expect(told).toHaveLength(2);
  expect(JSON.stringify([told, refused.events, refused.model.requests.map(shown), failed.events])).not.toContain(
    SECRET,
  );
});

test('a store that fails is told of without its words, and who asked has the credential all the same', async () => {
  const set = vi.fn(() => Promise.reject(new Error(`no place for ${SECRET}`)));
  const got = vi.fn();
  const once = tool({
    name: 'once',
    description: 'Asks.',
    annotations: { readOnly: true },
    async execute(_, { elicit }) {
      got((await elicit({ kind: 'auth_required', message: 'sign in' })).content);
      return 'ok';
    },
  });
  const { events } = await runDesk({
    own: [once],
    script: [calls('once')],
    host: { credentials: { get: () => undefined, set, delete: () => {} } },
    answer: accept,
  });
  expect(got).toHaveBeenCalledWith({ credential: SECRET });
  expect(set).toHaveBeenCalledWith({ userId: 'local', provider: 'desk' }, SECRET);
  expect(JSON.stringify(events)).toContain('CREDENTIAL_NOT_KEPT');
  expect(JSON.stringify(events)).not.toContain(SECRET);
});

test('what is no store of credentials is refused by name', () => {
  expect(() => createHost({ credentials: { get: () => undefined } as never })).toThrow(
    /createHost\.credentials.*get, set, delete/,
  );
});

/** Whatever can be read of a value: what cannot be written as JSON is read to a depth that holds all that actors hold. */
function shown(value: unknown, depth = 6): unknown {
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? '' : value;
  if (depth === 0) return '';
  if (value instanceof Map || value instanceof Set) return [...value].map((one) => shown(one, depth - 1));
  return Object.values(value).map((one) => shown(one, depth - 1));
}
