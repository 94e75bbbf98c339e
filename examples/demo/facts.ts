import { z } from 'zod';

/** What one sweep over files did not see: counts, save `stopped`. */
const leftOut = z.object({
  ignored: z.number().describe('Entries that .gitignore names.'),
  links: z.number().describe('Symbolic links, which are not followed.'),
  unreadable: z.number().describe('Files or folders that could not be read.'),
  tooDeep: z.number().describe('Folders nested too deep.'),
  stopped: z.array(z.string()).describe('Where a listing ended early, and why; empty when all was seen.'),
});

export const inventorySchema = z.object({
  files: z.number(),
  lines: z.number().describe('Of text files.'),
  bytes: z.number(),
  uncounted: z.number().describe('Files whose lines were not counted: binary, very large or unreadable.'),
  kinds: z.array(z.object({ kind: z.string(), files: z.number(), lines: z.number() })).describe('Most files first.'),
  folders: z
    .array(z.object({ path: z.string(), files: z.number(), lines: z.number() }))
    .describe('Folders at the top, most lines first.'),
  leftOut,
});

export const structureSchema = z.object({
  sourceFiles: z.number(),
  largest: z.array(z.object({ path: z.string(), lines: z.number() })).describe('Source files, most lines first.'),
  importsCountedIn: z.number().describe('In how many of the largest source files the imports were counted.'),
  mostImports: z.array(z.object({ path: z.string(), imports: z.number() })),
  importersCountedFor: z.number().describe('For how many files the files that import them were counted.'),
  mostImported: z.array(z.object({ path: z.string(), importedBy: z.number(), atLeast: z.boolean() })),
  notes: z.array(z.string()).describe('What could not be found out, in sentences.'),
});

export const todoSchema = z.object({
  total: z.number(),
  atLeast: z.boolean().describe('There may be more: a search ended early.'),
  markers: z.array(z.object({ path: z.string(), line: z.number(), kind: z.string(), text: z.string() })),
});

/** What the specialists found. One that failed is absent. */
export const factsSchema = z.object({
  inventory: inventorySchema.optional(),
  structure: structureSchema.optional(),
  todo: todoSchema.optional(),
});

/** What the writer and the critic are given. */
export const draftingSchema = z.object({
  task: z.string(),
  facts: factsSchema,
  draft: z.string().optional().describe('The latest draft of the report.'),
  objections: z.string().optional().describe('What the critic said of that draft.'),
});

export type LeftOut = z.infer<typeof leftOut>;
export type Inventory = z.infer<typeof inventorySchema>;
export type Structure = z.infer<typeof structureSchema>;
export type Todo = z.infer<typeof todoSchema>;
export type Facts = z.infer<typeof factsSchema>;
export type Drafting = z.infer<typeof draftingSchema>;
