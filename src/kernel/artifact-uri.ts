/** `artifact:<session>/<name>?version=<n>`: where a version of an artifact is. */
export const artifactUri = (sessionId: string, name: string, version: number): string =>
  `artifact:${encodeURIComponent(sessionId)}/${encodeURIComponent(name)}?version=${version}`;

export interface ArtifactPlace {
  readonly name: string;
  /** Undefined: the newest. */
  readonly version: number | undefined;
}

const ADDRESS = /^artifact:[^/]*\/([^?]*)(?:\?version=(\d+))?$/;

/**
 * What an address names within a session. Whose session that is the store decides, not the address: a fork keeps the
 * addresses of its source. Undefined: it is no address of an artifact.
 */
export function placeOfArtifact(uri: string): ArtifactPlace | undefined {
  const address = ADDRESS.exec(uri);
  if (address === null) return undefined;
  try {
    return {
      name: decodeURIComponent(address[1] ?? ''),
      version: address[2] === undefined ? undefined : Number(address[2]),
    };
  } catch {
    return undefined;
  }
}
