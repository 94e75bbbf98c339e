/** What stands in `backend` of an agent with `executor: 'adk'`. */
export interface AdkBackend {
  /** An agent of ADK, or what makes one for each session. */
  agent: unknown;
}
