/** No key and no token is among them. */
const HANDED_ON =
  process.platform === 'win32'
    ? /^(PATH|PATHEXT|SYSTEMROOT|SYSTEMDRIVE|COMSPEC|WINDIR|TEMP|TMP|USERNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES.*|PROCESSOR_ARCHITECTURE)$/i
    : /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TERM|TMPDIR)$/;

/** The variables that a server process is given: a few of ours, by name, and what is configured for it, which wins. */
export function childEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  configured: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(ours)) {
    // A value that begins like this is a function that bash would take over.
    if (value !== undefined && HANDED_ON.test(name) && !value.startsWith('()')) given[name] = value;
  }
  return { ...given, ...configured };
}
