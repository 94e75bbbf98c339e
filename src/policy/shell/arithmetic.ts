import type { ArithmeticExpression, Word } from 'unbash';
import { isDangerousVariable } from './variables.js';

/** Whether the commands at hand may have given that variable a text of their choice. */
export type IsTainted = (name: string) => boolean;

const NUMBER = /^[-+]?(?:0[xX][0-9a-fA-F]+|\d+#[\w@]+|\d+)$/;
const COUNT = /^\$(?:[#?$!]|\{[#?$!]\})$/;
const VARIABLE = /^(?:\$?([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)\})$/;

/**
 * Whether working it out runs nothing. The shell evaluates what a variable holds once more, and runs a substitution
 * that stands in the subscript of an array there: so only numbers, and variables that hold nothing else, are known.
 */
export function isPlainArithmetic(expression: ArithmeticExpression | undefined, isTainted: IsTainted): boolean {
  switch (expression?.type) {
    case undefined:
    case 'ArithmeticCommandExpansion':
      return false;
    case 'ArithmeticBinary':
      return isPlainArithmetic(expression.left, isTainted) && isPlainArithmetic(expression.right, isTainted);
    case 'ArithmeticUnary':
      return isPlainArithmetic(expression.operand, isTainted);
    case 'ArithmeticTernary':
      return [expression.test, expression.consequent, expression.alternate].every((one) =>
        isPlainArithmetic(one, isTainted),
      );
    case 'ArithmeticGroup':
      return isPlainArithmetic(expression.expression, isTainted);
    case 'ArithmeticWord':
      return isPlainNumber(expression.value, isTainted);
    default:
      return expression satisfies never;
  }
}

/** The same for a text that the shell takes for a number: a subscript, a place in a text, a side of `-eq`. */
export function isPlainNumber(text: string, isTainted: IsTainted): boolean {
  const written = text.trim();
  if (NUMBER.test(written) || COUNT.test(written)) return true;
  const [, bare, braced] = VARIABLE.exec(written) ?? [];
  const name = bare ?? braced;
  return name !== undefined && !isTainted(name) && !isDangerousVariable(name);
}

export const isPlainIndex = (index: Word, isTainted: IsTainted): boolean =>
  index.text === '@' || index.text === '*' || isPlainNumber(index.text, isTainted);
