import { BaseTool } from '@google/adk';
import type { FunctionDeclaration } from '@google/genai';
import type { ToolDescriptor } from '../../contracts/index.js';

/** A tool that the model may call and that the host runs: ADK knows its declaration only. */
export class DeclaredTool extends BaseTool {
  constructor(
    private readonly descriptor: ToolDescriptor,
    wireName: string,
  ) {
    super({ name: wireName, description: descriptor.description });
  }

  override _getDeclaration(): FunctionDeclaration {
    const { name, description } = this;
    return { name, description, parametersJsonSchema: this.descriptor.parametersSchema };
  }

  override runAsync(): Promise<never> {
    return Promise.reject(new Error(`${this.name} is run by the host`));
  }
}
