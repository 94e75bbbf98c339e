import type { AgentDefinition, ModelPrice, ModelStatus } from '../contracts/index.js';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine } from './plain-text.js';

export interface ModelsParts {
  /** Of the file on the command line; nothing: none was given. */
  loadDefinition(): Promise<AgentDefinition | undefined>;
  /** What a host knows of these names, and of all that the models file names. */
  list(names: readonly string[]): Promise<readonly ModelStatus[]>;
}

/** Says which models the agents of a team and a models file name, whether they can be asked, and what they cost. */
export async function modelsCommand(
  options: { json?: boolean | undefined },
  io: Pick<CommandIo, 'stdout'>,
  parts: ModelsParts,
): Promise<number> {
  const definition = await parts.loadDefinition();
  const models = await parts.list(definition === undefined ? [] : [...namesIn(definition)]);
  const none =
    definition === undefined
      ? 'no models are named: give a team file, or --models <file>'
      : `"${definition.name}" names no model: --models <file> reads others`;
  await io.stdout.write(
    options.json === true ? `${JSON.stringify({ models }, undefined, 2)}\n` : textReport(models, none),
  );
  return exitCodes.completed;
}

/** Names of models, of an agent and all below it, in the order in which they stand there. */
function namesIn(definition: AgentDefinition): Set<string> {
  const names = new Set<string>();
  const visit = (one: AgentDefinition) => {
    if (typeof one.model === 'string') names.add(one.model);
    if (one.leader !== undefined) visit(one.leader);
    for (const child of one.children ?? []) visit(child);
  };
  visit(definition);
  return names;
}

function textReport(models: readonly ModelStatus[], none: string): string {
  if (models.length === 0) return `${none}\n`;
  const width = Math.max(...models.map(({ name }) => visibleLine(name).length));
  const lines = models.map((status) => {
    const name = visibleLine(status.name).padEnd(width);
    const target = status.model === undefined || status.model === status.name ? '' : ` → ${visibleLine(status.model)}`;
    return `${mark(status)}  ${name}${target}  ${priceText(status.price)}${faultText(status)}`;
  });
  return `${lines.join('\n')}\n`;
}

const mark = ({ fault, health }: ModelStatus): string =>
  fault === undefined && health.state === 'healthy' ? 'ok         ' : 'unavailable';

function priceText(price: ModelPrice | undefined): string {
  if (price === undefined) return 'no price';
  const cached = price.cached === undefined ? '' : `, cached $${price.cached}`;
  const thought = price.thought === undefined ? '' : `, thought $${price.thought}`;
  return `$${price.input} in, $${price.output} out${cached}${thought} per million tokens`;
}

const faultText = ({ fault, health }: ModelStatus): string => {
  const why = fault ?? (health.state === 'healthy' ? undefined : health.state);
  return why === undefined ? '' : `: ${visibleLine(why)}`;
};
