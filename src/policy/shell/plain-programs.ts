/** Programs that take none of their words for a command, whatever those are; or of which it is known which they take. */
const PLAIN = new Set(
  // Text.
  (
    'cat tac head tail wc sort uniq cut paste join comm tr rev fold fmt pr nl expand unexpand column csplit split ' +
    'grep egrep fgrep zgrep rg ag ack sed gsed ssed awk gawk mawk nawk original-awk diff diff3 sdiff cmp patch iconv ' +
    'jq yq xmllint strings od hexdump xxd base32 base64 look tsort numfmt less more most ' +
    // Files.
    'ls dir vdir tree find gfind fd fdfind locate stat file du df cp mv ln rm rmdir unlink shred mkdir mktemp touch ' +
    'truncate install chmod chown chgrp chattr lsattr readlink realpath basename dirname pathchk dd tee sync tar gtar ' +
    'bsdtar zip unzip zipinfo gzip gunzip zcat bzip2 bunzip2 xz unxz zstd ar cpio rsync scp sftp ' +
    'md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum ' +
    // The machine.
    'date cal uptime uname hostname whoami id groups who w last ps pgrep pkill kill killall top free vmstat iostat lsof ' +
    'lsblk mount umount sleep usleep yes true false seq factor expr bc tty stty tput clear reset nproc arch lscpu ' +
    'getconf locale printenv which whereis whatis apropos man info dmesg journalctl ' +
    'ping traceroute dig host nslookup curl wget nc netstat ss ifconfig whois ' +
    // The shell's own.
    'echo printf test [ : cd pushd popd dirs pwd read mapfile readarray getopts shift set unset export readonly declare ' +
    'typeset command local return exit break continue let type umask ulimit jobs bg fg wait disown times hash ' +
    // Given files, by other programs too.
    'ssh pigz lz4 lzip lbzip2 pbzip2 brotli zstdmt delta diff-so-fancy vi vim nvim view nano code subl ' +
    // What is kept, and what is built.
    'git hg svn gcc g++ cc c++ clang clang++ rustc javac tsc eslint prettier black ruff flake8 mypy pylint ' +
    'apt apt-get apt-cache dnf yum pacman apk brew pip pip3 gem dpkg rpm'
  ).split(' '),
);

/** Whether none of a program's words is started by it, save what is known of it elsewhere. */
export const startsNothing = (program: string): boolean => PLAIN.has(program);
