import { getLogger, LogLevel, setLogLevel } from '@google/adk';

/**
 * What ADK says unasked: prompts and tool arguments into spans, and words on standard output, which is the program's.
 * Who has set one of them gets what was set.
 */
export function quieten(): void {
  process.env.ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS ??= 'false';
  const { logLevel } = getLogger() as unknown as { logLevel?: LogLevel };
  if (logLevel === LogLevel.INFO) setLogLevel(LogLevel.ERROR);
}
