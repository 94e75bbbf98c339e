import { forEachChild, type SyntaxNode } from 'unbash';
import type { IsTainted } from './arithmetic.js';

/** Commands that set variables by name, or run text that may. */
const SETS_ANY = new Set(
  '. source eval read mapfile readarray printf declare typeset local export readonly getopts let set unset wait'.split(
    ' ',
  ),
);

/**
 * Which variables the script may have given a text: those hold whatever was put in, and a number is not what they
 * must hold. Looked for once, when somebody asks.
 */
export function taintOf(script: SyntaxNode): IsTainted {
  let names: Set<string> | undefined;
  let isAny = false;
  const visit = (node: SyntaxNode): void => {
    switch (node.type) {
      case 'Assignment':
        if (node.append || node.value.type !== 'Word' || !/^\d+$/.test(node.value.text)) names?.add(node.name);
        break;
      case 'For':
      case 'Select':
        names?.add(node.name.value);
        break;
      case 'Coproc':
        names?.add(node.name?.value ?? 'COPROC');
        break;
      case 'ParameterExpansion':
        if (node.operation?.type === 'Default' && node.operation.operator.includes('=')) names?.add(node.parameter);
        break;
      case 'Command':
        // A word that is not known may be any of them.
        if (node.name !== undefined && (node.name.parts !== undefined || SETS_ANY.has(node.name.value))) isAny = true;
        break;
      default:
    }
    forEachChild(node, visit);
  };
  return (name) => {
    if (names === undefined) {
      names = new Set(['REPLY', 'MAPFILE', 'OPTARG', '_', 'BASH_COMMAND', 'PIPESTATUS']);
      visit(script);
    }
    return isAny || names.has(name);
  };
}

/** In a text that another shell runs, or that is evaluated, its variables come from outside. */
export const allTainted: IsTainted = () => true;
