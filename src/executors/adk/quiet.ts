import { getLogger, type Logger, LogLevel, setLogger } from '@google/adk';

/**
 * What ADK says unasked: prompts and tool arguments into spans, and words on standard output, which is the program's.
 * Who has set the former or a logger gets what was set. ADK's own logger speaks on standard error from now on: at its
 * level, or, where nobody has set one, of errors only.
 */
export function quieten(): void {
  process.env.ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS ??= 'false';
  const logger = getLogger() as Logger & { logLevel?: LogLevel };
  if (logger.constructor.name !== 'SimpleLogger') return;
  const { logLevel = LogLevel.INFO } = logger;
  setLogger(stderrLogger(logLevel === LogLevel.INFO ? LogLevel.ERROR : logLevel));
}

function stderrLogger(from: LogLevel): Logger {
  let least = from;
  const log = (level: LogLevel, ...words: unknown[]) => {
    if (level >= least) process.stderr.write(`[ADK] ${LogLevel[level]} ${words.map(String).join(' ')}\n`);
  };
  return {
    setLogLevel: (level) => {
      least = level;
    },
    log,
    debug: (...words) => log(LogLevel.DEBUG, ...words),
    info: (...words) => log(LogLevel.INFO, ...words),
    warn: (...words) => log(LogLevel.WARN, ...words),
    error: (...words) => log(LogLevel.ERROR, ...words),
  };
}
