export { shownWords } from './command.js';
export { concerns, covers } from './conditions.js';
export { judgeCommand, parsedCommands } from './judge.js';
export { startsOthers } from './launch.js';
export { parseCommands } from './parse.js';
export { isDangerousVariable } from './variables.js';
