import type { Artifact, Message, Part } from '@a2a-js/sdk';
import type { ContentPart } from '../../contracts/index.js';
import { adkContent } from './adk-parts.js';

const BARE = { metadata: undefined, filename: '', mediaType: '' };

/** Content as A2A has it. What has no form there goes as JSON. */
export function toWire(content: readonly ContentPart[]): Part[] {
  return content.map((part): Part => {
    switch (part.type) {
      case 'text':
      case 'refusal':
        return { ...BARE, content: { $case: 'text', value: part.text } };
      case 'code':
        return { ...BARE, content: { $case: 'text', value: `\`\`\`${part.language}\n${part.code}\n\`\`\`` } };
      case 'media': {
        const { data, uri, mimeType } = part;
        if (data !== undefined)
          return { ...BARE, mediaType: mimeType, content: { $case: 'raw', value: Buffer.from(data, 'base64') } };
        return { ...BARE, mediaType: mimeType, content: { $case: 'url', value: uri ?? '' } };
      }
      case 'reference':
        return {
          ...BARE,
          content: { $case: 'text', value: part.uri === undefined ? part.text : `${part.text} (${part.uri})` },
        };
      default:
        return { ...BARE, content: { $case: 'data', value: part } };
    }
  });
}

/** Data as one part. */
export const dataPart = (value: unknown): Part => ({ ...BARE, content: { $case: 'data', value } });

/** What a remote said as content. Data is shown as JSON; a part without content is nothing. */
export function fromWire(parts: readonly Part[] | undefined): ContentPart[] {
  return (parts ?? []).flatMap((part): ContentPart[] => {
    const own = adkContent(part);
    if (own !== undefined) return own === 'step' ? [] : [own];
    const { content, mediaType } = part;
    switch (content?.$case) {
      case 'text':
        return content.value === '' ? [] : [{ type: 'text', text: content.value }];
      case 'data':
        return [{ type: 'text', text: JSON.stringify(content.value ?? null) }];
      case 'raw':
        return [
          { type: 'media', mimeType: mediaType || UNKNOWN_TYPE, data: Buffer.from(content.value).toString('base64') },
        ];
      case 'url':
        return [{ type: 'media', mimeType: mediaType || UNKNOWN_TYPE, uri: content.value }];
      default:
        return [];
    }
  });
}

const UNKNOWN_TYPE = 'application/octet-stream';

/** The data that a remote came to, where it said nothing but data. */
export function dataIn(of: Pick<Artifact | Message, 'parts'>): { value: unknown } | undefined {
  const [only, ...others] = of.parts ?? [];
  if (only?.content?.$case !== 'data' || others.length > 0 || adkContent(only) !== undefined) return undefined;
  return { value: only.content.value };
}
