// The team of the demo: three specialists look at a folder at the same time, a writer reports, a critic sends drafts
// back until nothing is left to object to. No agent names a model: the run chooses one for all of them.
import { agent, loop, parallel, sequential } from 'troupe';
import { draftingSchema, factsSchema, inventorySchema, structureSchema, todoSchema } from './facts.js';

const inventory = agent({
  name: 'inventory',
  description: 'Counts what is in the folder.',
  instruction: `You take stock of a folder. Call glob with stats: true, first for "**/*", then once for each kind of file
that is there ("**/*.ts", "**/*.md" …): its last line gives exact totals. A listing that stopped early is incomplete:
go on folder by folder (list_directory, then glob with path), and say in leftOut.stopped what you still did not see.
Never estimate a count. End with complete_task.`,
  tools: ['glob', 'list_directory'],
  outputSchema: inventorySchema,
  constraints: { maxTurns: 20 },
});

const structure = agent({
  name: 'structure',
  description: 'Finds the largest and the most tangled files.',
  instruction: `You look for the largest and the most tangled source files of a folder. Call glob with stats: true for
source files to learn their lines. Then count the import lines of the largest ones with search_text (a literal text such
as " from ", "require(", "import " or "#include", with the glob of those files), and how many files import the ones that
are imported most. A search stops at 200 lines: narrow it. Never estimate. End with complete_task.`,
  tools: ['glob', 'list_directory', 'search_text'],
  outputSchema: structureSchema,
  constraints: { maxTurns: 20 },
});

const todo = agent({
  name: 'todo',
  description: 'Finds what is marked as left to do.',
  instruction: `You look for what is left to do in a folder: comments that begin with TODO, FIXME, HACK or XXX, unchecked
boxes ("- [ ]") in Markdown, and tests that are skipped. Use search_text. Leave out lines that only talk about such
markers. Give file, line and text of each, at most 50. End with complete_task.`,
  tools: ['search_text', 'read_file'],
  outputSchema: todoSchema,
  constraints: { maxTurns: 20 },
});

const writer = agent({
  name: 'writer',
  description: 'Writes the report.',
  instruction: `You write a report on a folder, in Markdown, from the facts you are given and nothing else. A title, then
the sections "In short", "What is in it", "Largest and most tangled", "What is left to do". Name files in backticks.
When there are objections to your last draft, meet every one of them. Answer with the report alone.`,
  inputSchema: draftingSchema,
  constraints: { maxTurns: 4 },
});

const critic = agent({
  name: 'critic',
  description: 'Checks the report against the facts.',
  instruction: `You check the draft of a report against the facts. Every count must be exact and every file named must be
in the facts; a section "Not looked at" must say what the specialists did not see. Check one or two claims yourself with
read_file. If anything is wrong or missing, answer with your objections, one per line. If nothing is, call exit_loop and
say nothing.`,
  inputSchema: draftingSchema,
  tools: ['read_file'],
  constraints: { maxTurns: 6 },
});

const team = sequential({
  name: 'report',
  description: 'Reports on a folder: what is in it, where it is large and tangled, what is left to do.',
  children: [
    parallel({ name: 'look', children: [inventory, structure, todo] }),
    loop({
      name: 'polish',
      inputSchema: draftingSchema,
      children: [writer, critic],
      maxIterations: 3,
      mapInput: (child, { input: { task, facts }, results }) => ({
        task,
        facts,
        draft: results.writer,
        objections: child === 'writer' ? results.critic : undefined,
      }),
    }),
  ],
  mapInput: (child, { input, results }) =>
    child === 'polish' ? { task: input, facts: factsSchema.parse(results.look ?? {}) } : undefined,
});

// `npx troupe graph examples/demo/team.ts` draws it, `troupe check` says what a run can cost.
export default team;
