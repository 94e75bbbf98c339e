import type { ModelRequest, ToolDescriptor } from '../../contracts/index.js';

/** The tools that the model may see: those of `allowedTools` where it is given. */
export function offeredTools(request: ModelRequest): readonly ToolDescriptor[] {
  const tools = request.tools ?? [];
  if (request.allowedTools === undefined) return tools;
  const allowed = new Set(request.allowedTools);
  return tools.filter((tool) => allowed.has(tool.name));
}
