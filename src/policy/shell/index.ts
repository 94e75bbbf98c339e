export { concerns, covers, reachesIn } from './conditions.js';
export { judgeCommand, parsedCommands } from './judge.js';
export { isDangerousVariable } from './variables.js';
