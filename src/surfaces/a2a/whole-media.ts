import type { AgentEvent, ArtifactStore, ContentPart } from '../../contracts/index.js';
import { placeOfArtifact } from '../../kernel/artifact-uri.js';
import { isArtifactMedia } from '../../kernel/kept-media.js';

/** Whether a message has media that a caller from outside could not fetch. */
export const hasKeptMedia = ({ content }: AgentEvent<'message'>): boolean => content.some(isArtifactMedia);

/** The message with the media that its session has kept in its parts; what is gone stays an address. Never rejects. */
export async function withWholeMedia(
  message: AgentEvent<'message'>,
  artifacts: ArtifactStore | undefined,
  sessionId: string,
): Promise<AgentEvent<'message'>> {
  const whole = async (part: ContentPart): Promise<ContentPart> => {
    const place = isArtifactMedia(part) ? placeOfArtifact(part.uri) : undefined;
    if (place === undefined) return part;
    const found = await artifacts?.load(sessionId, place.name, place.version).catch(() => undefined);
    if (found === undefined) return part;
    const { uri: _, ...rest } = part as ContentPart<'media'>;
    return { ...rest, data: Buffer.from(found.data).toString('base64') };
  };
  return { ...message, content: await Promise.all(message.content.map(whole)) };
}
