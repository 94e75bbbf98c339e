import type { SkillReader } from '../../host/skills.js';
import { activateSkillTool } from '../../tools/skills/activate-skill.js';
import { readSkill } from './read-skill.js';

/** How a host reads skills from folders of the disk. */
export const skillReader: SkillReader = { read: (folder) => readSkill(folder), tool: activateSkillTool };
