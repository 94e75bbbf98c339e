// What decides which program is found, what a program loads or starts, or where it gets its orders from.
const DANGEROUS = new RegExp(
  `^(?:${[
    // The shell itself.
    'IFS|ENV|BASH.*|SHELL.*|PS[0-4]|PROMPT_.*|GLOBIGNORE|FIGNORE|EXECIGNORE|POSIXLY_CORRECT|HOSTFILE|MAIL.*|HIST.*',
    'PWD|OLDPWD|TMPDIR|TERMCAP|TERMINFO.*|LOCALDOMAIN|RES_OPTIONS|HOSTALIASES|DISPLAY|.*_DISPLAY',
    // The loader and the C library.
    'LD_.*|DYLD_.*|_RLD.*|GCONV_.*|LOCPATH|NLSPATH|MALLOC_.*|GLIBC_.*|ASAN_.*',
    // Programs that start others, or read orders from the environment.
    'GIT_.*|SSH_.*|SUDO_.*|GPG_.*|GNUPGHOME|LESS.*|MORE|MAN.*|EXINIT|VIMINIT|VIM.*|NVIM.*|EMACS.*|BROWSER|VISUAL',
    'RSYNC_.*|DOCKER_.*|KUBE.*|MAKE.*|AWK.*|.*_ASKPASS|.*_WRAPPER|.*_LAUNCHER|.*_COMMAND|.*_CMD|.*_HOOK|.*_PLUGINS?',
    // Languages.
    'PYTHON(?!UNBUFFERED$|HASHSEED$|IOENCODING$|UTF8$|DONTWRITEBYTECODE$).*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|LUA.*|PHP.*',
    'NODE_(?!ENV$).*|NPM_.*|YARN_.*|PNPM_.*|DENO_.*|BUN_.*|COREPACK_.*|JAVA_.*|.*_JAVA_OPTIONS|CLASSPATH|JDK_.*',
    'RUST(?!_LOG$|_BACKTRACE$).*|CARGO_.*|GO[A-Z].*|CGO_.*|CC|CXX|CPP|LD|AR|AS|NM|RANLIB|STRIP|LINKER|PKG_CONFIG.*|CONFIG_SITE',
    // Whatever the program, by the habit of naming such things.
    '.*PATH|.*HOME|.*RC|.*OPTIONS|.*OPTS|.*FLAGS|.*PAGER|.*EDITOR|.*SHELL|.*_PROXY|.*_proxy|npm_.*|.*CONFIG|.*_CONFIG_.*|XDG_.*',
  ].join('|')})$`,
);

/** Whether setting it can make an innocent command do something else. Then no rule can allow it in passing. */
export const isDangerousVariable = (name: string): boolean => DANGEROUS.test(name) || !/^\w+$/.test(name);
