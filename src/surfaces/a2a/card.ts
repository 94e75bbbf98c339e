import type { AgentCard } from '@a2a-js/sdk';
import type { AgentDescriptor } from '../../contracts/index.js';

/** Where an agent's schemas stand on its card. */
export const SCHEMAS_URI = 'urn:troupe:schemas:1';

/** What a descriptor says, as an A2A card: itself and those below it as skills, its schemas as an extension. */
export function cardOf(
  descriptor: AgentDescriptor,
  options: { url: string; version: string; needsToken: boolean; pushes: boolean },
): AgentCard {
  const { url, version, needsToken, pushes } = options;
  const at = (protocolVersion: string) => ({ url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion });
  const { name, displayName = name, description, inputSchema, outputSchema } = descriptor;
  return {
    name: displayName,
    description,
    supportedInterfaces: [at('1.0'), at('0.3')],
    provider: undefined,
    version: descriptor.metadata?.version ?? version,
    capabilities: {
      streaming: true,
      pushNotifications: pushes,
      extendedAgentCard: false,
      extensions: [
        {
          uri: SCHEMAS_URI,
          description: 'JSON Schemas of what the agent takes and gives.',
          required: false,
          params: { inputSchema, ...(outputSchema !== undefined && { outputSchema }) },
        },
      ],
    },
    securitySchemes: needsToken
      ? {
          token: {
            scheme: { $case: 'httpAuthSecurityScheme', value: { description: '', scheme: 'bearer', bearerFormat: '' } },
          },
        }
      : {},
    securityRequirements: needsToken ? [{ schemes: { token: { list: [] } } }] : [],
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [descriptor, ...(descriptor.subAgents ?? [])].map((one) => ({
      id: one.name,
      name: one.displayName ?? one.name,
      description: one.description,
      tags: [one.composition?.pattern ?? 'agent'],
      examples: [],
      inputModes: [],
      outputModes: [],
      securityRequirements: [],
    })),
    signatures: [],
  };
}

/** The card as JSON for peers of both versions: version 1 as it is, and beside it what 0.3 reads. */
export function cardJson(sdk: typeof import('@a2a-js/sdk'), card: AgentCard): string {
  const [first] = card.supportedInterfaces;
  const own = sdk.AgentCard.toJSON(card) as Record<string, unknown>;
  return JSON.stringify({ ...own, url: first?.url, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' });
}
