/** What stands in `backend` of an agent with `executor: 'adk'`. */
export interface AdkBackend {
  /** An agent of ADK, or what makes one for each session. */
  agent: unknown;
  /** ADK's plugins, in their order: around the models and the own tools of it and of all agents below it. */
  plugins?: readonly unknown[];
}
