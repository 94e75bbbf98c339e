type Check = { readonly fits: (value: unknown) => boolean; readonly be: string };

const isNumber = (value: unknown, from: number, to = Number.POSITIVE_INFINITY): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value >= from && value <= to;
const isWhole = (value: unknown, from: number): boolean => Number.isSafeInteger(value) && Number(value) >= from;
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const KNOWN: Readonly<Record<string, Check>> = {
  temperature: { fits: (value) => isNumber(value, 0), be: 'a number from 0' },
  topP: { fits: (value) => isNumber(value, 0, 1), be: 'a number from 0 to 1' },
  topK: { fits: (value) => isWhole(value, 0), be: 'a whole number from 0' },
  maxOutputTokens: { fits: (value) => isWhole(value, 1), be: 'a whole number from 1' },
  stopSequences: {
    fits: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== ''),
    be: 'a list of texts',
  },
  thinking: { fits: isObject, be: 'an object: { budget?, includeThoughts? }' },
};

const THINKING: Readonly<Record<string, Check>> = {
  budget: { fits: (value) => isWhole(value, -1), be: 'a whole number from -1' },
  includeThoughts: { fits: isFlag, be: 'true or false' },
};

/**
 * What is wrong with the parameters of a model, each with its key (`topP`, `thinking.budget`; empty: the whole). Keys that
 * only one provider knows are its own to judge.
 */
export function generationFaults(generation: unknown): { readonly key: string; readonly message: string }[] {
  if (!isObject(generation)) return [{ key: '', message: 'must be an object, such as { temperature: 0.2 }' }];
  const { thinking } = generation;
  const inner = isObject(thinking) ? faultsIn(thinking, THINKING, 'thinking.') : [];
  return [...faultsIn(generation, KNOWN, ''), ...inner];
}

const faultsIn = (bag: Record<string, unknown>, checks: Readonly<Record<string, Check>>, prefix: string) =>
  Object.entries(checks).flatMap(([key, { fits, be }]) => {
    const value = bag[key];
    return value === undefined || fits(value)
      ? []
      : [{ key: `${prefix}${key}`, message: `must be ${be}, not ${shown(value)}` }];
  });

const shown = (value: unknown): string =>
  typeof value === 'string' ? `"${value.slice(0, 40)}"` : isObject(value) ? 'an object' : String(value).slice(0, 40);
