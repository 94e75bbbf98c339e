import { resolve } from 'node:path';
import type { AgentDefinition } from '../contracts/index.js';
import type { Host } from '../host/types.js';
import type { A2aServer, A2aServerOptions } from '../surfaces/a2a.js';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine } from './plain-text.js';
import { portOf } from './port-option.js';
import { badUse } from './report-error.js';
import type { RunParts } from './run.js';
import { untilSignal } from './until-signal.js';

export interface ServeCommand {
  file: string;
  a2a?: boolean | undefined;
  port?: string | undefined;
  host?: string | undefined;
  /** Name of the environment variable that holds the token. */
  tokenEnv?: string | undefined;
  publicUrl?: string | undefined;
  /** Origins that callers may have the news of their tasks sent to. */
  pushOrigin?: string[] | undefined;
  script?: string | undefined;
  root?: string | undefined;
  store?: string | undefined;
  json?: boolean | undefined;
}

export interface ServeParts
  extends Pick<RunParts, 'loadDefinition' | 'loadModel' | 'workspaceTools' | 'openStore' | 'createHost'> {
  serveA2a(host: Host, team: AgentDefinition, options: A2aServerOptions): Promise<A2aServer>;
}

/** Serves a team until a signal ends it. Questions go to the caller; what callers may do is the policy's affair. */
export async function serveCommand(command: ServeCommand, io: CommandIo, parts: ServeParts): Promise<number> {
  if (command.a2a !== true) throw badUse('say what to speak: --a2a');
  const options = serverOptions(command, io);
  const loaded = await parts.loadDefinition(command.file);
  for (const notice of loaded.notices) void io.stderr.write(`troupe: ${visibleLine(notice)}\n`);
  for (const folder of loaded.extensions ?? [])
    void io.stderr.write(
      `troupe: the extension ${visibleLine(folder)} takes no part here; it does in troupe run and chat\n`,
    );
  const scriptPath = command.script === undefined ? loaded.script : resolve(io.cwd, command.script);
  const host = parts.createHost({
    ...(scriptPath !== undefined && { models: { scripted: await parts.loadModel(scriptPath) } }),
    tools: parts.workspaceTools(resolve(io.cwd, command.root ?? '.')),
    store: parts.openStore(command.store, resolve(io.cwd, command.file)),
    agents: [loaded.definition],
  });
  try {
    const server = await parts.serveA2a(host, loaded.definition, options);
    const { url, cardUrl } = server;
    const text =
      command.json === true
        ? JSON.stringify({ url, cardUrl })
        : `serving ${loaded.definition.name} over A2A\n  ${cardUrl}`;
    await io.stdout.write(`${text}\n`);
    await untilSignal(io);
    await server.close();
  } finally {
    await host.close();
  }
  return exitCodes.completed;
}

function serverOptions({ port, host, tokenEnv, publicUrl, pushOrigin }: ServeCommand, io: CommandIo): A2aServerOptions {
  const token = tokenEnv === undefined ? undefined : io.env[tokenEnv];
  if (tokenEnv !== undefined && (token === undefined || token === ''))
    throw badUse(`--token-env ${tokenEnv}: the environment has no such variable`);
  return {
    port: portOf(port),
    ...(host !== undefined && { hostname: host }),
    ...(token !== undefined && { token }),
    ...(pushOrigin !== undefined && { push: { origins: pushOrigin } }),
    ...(publicUrl !== undefined && { publicUrl, hosts: [new URL(publicUrl).host] }),
  };
}
