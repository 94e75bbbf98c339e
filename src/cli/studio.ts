import { resolve } from 'node:path';
import type { SessionProvider } from '../contracts/index.js';
import type { Host } from '../host/types.js';
import type { Overview } from '../studio/wire.js';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine } from './plain-text.js';
import { portOf } from './port-option.js';
import type { RunParts } from './run.js';
import { DEFAULT_STORE } from './store-place.js';
import { untilSignal } from './until-signal.js';

export interface StudioCommand {
  /** Its team can be started from the page. */
  file?: string | undefined;
  port?: string | undefined;
  script?: string | undefined;
  root?: string | undefined;
  /** Each is shown as a host of its own; runs are started in the first. */
  store?: readonly string[] | undefined;
  /** Addresses of other Studios. */
  connect?: readonly string[] | undefined;
  json?: boolean | undefined;
}

export type StudioParts = Pick<
  RunParts,
  'loadDefinition' | 'loadModel' | 'workspaceTools' | 'openStore' | 'createHost'
>;

/** Serves Studio for the stored sessions, and for runs of a team that are started from its page, until a signal ends it. */
export async function studioCommand(command: StudioCommand, io: CommandIo, parts: StudioParts): Promise<number> {
  const port = portOf(command.port);
  const loaded = command.file === undefined ? undefined : await parts.loadDefinition(command.file);
  for (const notice of loaded?.notices ?? []) void io.stderr.write(`troupe: ${visibleLine(notice)}\n`);
  for (const folder of loaded?.extensions ?? [])
    void io.stderr.write(
      `troupe: the extension ${visibleLine(folder)} takes no part here; it does in troupe run and chat\n`,
    );
  const scriptPath = command.script === undefined ? loaded?.script : resolve(io.cwd, command.script);
  const models = scriptPath === undefined ? {} : { models: { scripted: await parts.loadModel(scriptPath) } };
  const tools = parts.workspaceTools(resolve(io.cwd, command.root ?? '.'));
  const agents = loaded === undefined ? {} : { agents: [loaded.definition] };
  const stores = command.store ?? [];
  const [host, ...others] = (stores.length === 0 ? [undefined] : [...new Set(stores)]).map((store) => ({
    name: store,
    host: parts.createHost({ ...models, tools, store: ofEveryApp(parts.openStore(store, command.file)), ...agents }),
  })) as [NamedHost, ...NamedHost[]];
  try {
    const { url } = await host.host.inspectServer({
      port,
      ...(others.length > 0 && {
        ...(host.name !== undefined && { name: host.name }),
        hosts: Object.fromEntries(others.map((one) => [one.name, one.host])),
      }),
      ...(command.connect !== undefined && { connect: command.connect }),
    });
    await io.stdout.write(command.json === true ? `${JSON.stringify({ url })}\n` : `Studio is at\n  ${url}\n`);
    const ended = untilSignal(io);
    if (command.file === undefined) await tellEmpty([host, ...others], io);
    if (command.connect !== undefined) await tellFaults(url, io);
    await ended;
  } finally {
    await Promise.all([host, ...others].map((one) => one.host.close()));
  }
  return exitCodes.completed;
}

interface NamedHost {
  /** The folder of its store, as it was named; undefined: where sessions are kept unless told otherwise. */
  readonly name: string | undefined;
  readonly host: Host;
}

/** All that is stored is shown, whatever application it is of. */
const ofEveryApp = (store: SessionProvider): SessionProvider => ({
  ...store,
  list: (agentName) => store.list(agentName),
});

/** Where there is nothing to be seen, the folder may be the wrong one. */
async function tellEmpty(hosts: readonly NamedHost[], io: CommandIo): Promise<void> {
  for (const { name, host } of hosts) {
    const stored = await host.list().catch(() => undefined);
    if (stored?.length !== 0) continue;
    const option = name === undefined ? '' : ` --store ${name}`;
    const place = visibleLine(name ?? DEFAULT_STORE);
    void io.stderr.write(
      `troupe: no sessions are in ${place}: those of troupe run <file> "…"${visibleLine(option)} are shown here as they come\n`,
    );
  }
}

/** Studios of other processes that do not answer, or are none. */
async function tellFaults(url: string, io: CommandIo): Promise<void> {
  const { search } = new URL(url);
  const { hosts } = (await (await fetch(new URL(`/api/overview${search}`, url))).json()) as Overview;
  for (const { name, fault } of hosts)
    if (fault !== undefined) void io.stderr.write(`troupe: ${visibleLine(`${name}: ${fault}`)}\n`);
}
