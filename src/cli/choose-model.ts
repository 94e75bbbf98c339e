import type { AgentDefinition } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';

export interface ModelChoice {
  definition: AgentDefinition;
  /** `--model` */
  asked: string | undefined;
  /** `--script` */
  script: string | undefined;
  /** There is a script, of the command line or of the file. */
  isScripted: boolean;
}

/** The model of the whole run; nothing: each agent's own. A script that was asked for plays them all. */
export function chooseModel({ definition, asked, script, isScripted }: ModelChoice): string | undefined {
  if (asked !== undefined || !isScripted) return asked;
  return script !== undefined || !namesModel(definition) ? 'scripted' : undefined;
}

/** The error of a model that cannot be used, with what the command line has to offer. */
export function withModelHint(thrown: unknown, { isScripted }: Pick<ModelChoice, 'isScripted'>): unknown {
  if (!(thrown instanceof TroupeError)) return thrown;
  const { code, message, problems } = thrown;
  const isAboutModel = code === 'UNKNOWN_MODEL' || problems.some((problem) => problem.code === 'UNKNOWN_MODEL');
  const isAboutPrice = code === 'UNKNOWN_PRICE';
  if (!isAboutModel && !isAboutPrice) return thrown;
  const ofModel = isScripted
    ? '--model scripted answers from the script that the file names'
    : '--script <file> answers from a script, --model <model> chooses another';
  const hint = isAboutPrice ? '--models <file> says what models cost' : ofModel;
  return new TroupeError({ code, message: `${message}; ${hint}`, problems, cause: thrown });
}

function namesModel(definition: AgentDefinition): boolean {
  const below = [...(definition.children ?? []), ...(definition.leader === undefined ? [] : [definition.leader])];
  return definition.model !== undefined || below.some(namesModel);
}
