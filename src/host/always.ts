/** What an approval was about. */
export interface Approved {
  readonly principalPath: string;
  readonly tool: string;
  readonly actionHash: string;
  /** The MCP server that the tool belongs to. */
  readonly server?: string | undefined;
  /** What the tool says of itself, where others define it. */
  readonly revision?: string | undefined;
}

/** A tool as it is, for one principal path. */
export const toolKey = ({ principalPath, tool, revision }: Omit<Approved, 'actionHash' | 'server'>): string =>
  revision === undefined ? `${principalPath}|${tool}` : `${principalPath}|${tool}|${revision}`;

/** All tools of a server, for one principal path. No tool has a name that begins so. */
export const serverKey = (principalPath: string, server: string): string => `${principalPath}|*${server}`;

/** What is allowed from then on in a session by an outcome; undefined: nothing but this one action. */
export function alwaysKey(outcome: unknown, approved: Approved): string | undefined {
  switch (outcome) {
    case 'proceed_always':
    case 'proceed_always_and_save':
      return approved.actionHash;
    case 'proceed_always_tool':
      return toolKey(approved);
    case 'proceed_always_server':
      return approved.server === undefined ? undefined : serverKey(approved.principalPath, approved.server);
    default:
      return undefined;
  }
}
