import type { JsonSchema, ToolAnnotations, ToolDescriptor } from '../../contracts/index.js';

/** What a model is told of a tool. */
export interface ToolText {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  /** Properties of the arguments. No others are taken. */
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
}

export function descriptorOf(tool: ToolText, annotations: ToolAnnotations): ToolDescriptor {
  const { name, displayName, description, properties, required } = tool;
  const parametersSchema = { type: 'object', properties, required, additionalProperties: false };
  return { name, displayName, description, parametersSchema, annotations };
}

/** For a person: what a call is about, and where. */
export function describedAs({ title, path, line }: { title: string; path?: string; line?: number }) {
  if (path === undefined) return { title };
  return { title, locations: [line === undefined ? { path } : { path, line }] };
}
