import type { OptionTable } from './reach-options.js';
import { BUILD_TABLES } from './reach-tables-build.js';
import { PROJECT_TABLES } from './reach-tables-project.js';

const list = (text: string): readonly string[] => text.split(' ');

const SSH: OptionTable = { short: 'oFSEID', valued: 'bcilmpBQW', writing: ['-E', '-D'] };
const EDITOR: OptionTable = {
  short: 'clSsuUwWiVeE',
  long: list('cmd startuptime listen remote server headless eval load funcall execute batch script'),
};
/** They only write, or work elsewhere. */
const writes = (options: Omit<OptionTable, 'writing'>): OptionTable => ({ ...options, writing: 'all' });

/** Options that run another program, load code, or write where the command's name does not say. */
export const OPTION_TABLES: ReadonlyMap<string, OptionTable> = new Map<string, OptionTable>([
  [
    'sort',
    {
      short: 'o',
      valued: 'kStT',
      long: list('output compress-program'),
      writing: list('-o --output'),
      commands: ['--compress-program'],
    },
  ],
  ['cpio', { short: 'FOEI', long: list('rsh-command file pattern-file'), writing: list('-E -I --pattern-file') }],
  ['shuf', writes({ short: 'o', long: ['output'] })],
  ['tree', writes({ short: 'oR', valued: 'LPI', long: ['output'] })],
  ['split', { long: ['filter'], commands: ['--filter'] }],
  [
    'sdiff',
    { short: 'o', long: list('output diff-program'), writing: list('-o --output'), commands: ['--diff-program'] },
  ],
  ['diff3', { long: ['diff-program'], commands: ['--diff-program'] }],
  ['diff', writes({ short: 'l', valued: 'CUxXFIWSD', long: ['paginate'] })],
  [
    'patch',
    {
      short: 'oreiZ',
      long: list('output reject-file input'),
      writing: list('-o -r -i -Z --output --reject-file --input'),
    },
  ],
  ['iconv', writes({ short: 'o', valued: 'ft', long: ['output'] })],
  ['file', writes({ short: 'CmzZ', long: list('compile magic-file uncompress uncompress-noreport') })],
  ['date', writes({ short: 's', valued: 'dfrI', long: ['set'] })],
  ['dmesg', writes({ short: 'cCDEnw', long: list('clear read-clear console-off console-on console-level') })],
  ['rg', { long: list('pre hostname-bin'), commands: list('--pre --hostname-bin') }],
  ['ag', { long: ['pager'], commands: ['--pager'] }],
  ['ack', { long: list('pager ackrc output'), writing: ['--output'], commands: ['--pager'] }],
  ['fd', { short: 'xX', long: list('exec exec-batch') }],
  ['fdfind', { short: 'xX', long: list('exec exec-batch') }],
  [
    'less',
    {
      short: 'oOkT',
      valued: 'bhjpxyz',
      long: list('log-file LOG-FILE lesskey-file lesskey-src lesskey-content tag-file'),
      writing: list('-o -O -T --log-file --LOG-FILE --tag-file'),
    },
  ],
  [
    'man',
    {
      short: 'PHCMX',
      valued: 'eLmSsERprT',
      long: list('pager html config-file manpath gxditview'),
      writing: list('-M --manpath'),
      commands: list('-P -H --pager --html'),
    },
  ],
  ['delta', { long: ['pager'], commands: ['--pager'] }],
  ['bat', { long: ['pager'], commands: ['--pager'] }],
  ['batcat', { long: ['pager'], commands: ['--pager'] }],
  ['vi', EDITOR],
  ['vim', EDITOR],
  ['nvim', EDITOR],
  ['view', EDITOR],
  ['vimdiff', EDITOR],
  ['emacs', { ...EDITOR, short: 'fl', exact: list('-eval -load -funcall -script -batch -execute') }],
  ['nano', { short: 'sfoQ', long: list('speller rcfile operatingdir'), commands: list('-s --speller') }],
  [
    'curl',
    {
      short: 'oOKDcQ',
      valued: 'ACEFHPTUXYdehmrtuwyxbz',
      long: list(
        'output output-dir remote-name remote-name-all config dump-header cookie-jar trace trace-ascii stderr libcurl ' +
          'etag-save hsts alt-svc quote prequote postquote engine write-out dump-ca-embed ssl-sessions',
      ),
      writing: 'all',
      starting: list('-K --config --engine'),
    },
  ],
  [
    'wget',
    {
      short: 'OoaPexi',
      valued: 'UTQwtlARDIXB',
      long: list(
        'output-document output-file append-output directory-prefix execute config use-askpass save-cookies warc-file ' +
          'warc-cdx warc-tempdir rejected-log hsts-file input-file save-headers',
      ),
      writing: list(
        '-O -o -a -P -x -i --output-document --output-file --append-output --directory-prefix --save-cookies ' +
          '--warc-file --warc-cdx --warc-tempdir --rejected-log --hsts-file --input-file --save-headers',
      ),
      commands: ['--use-askpass'],
    },
  ],
  ['ssh', SSH],
  ['scp', SSH],
  ['sftp', { ...SSH, short: 'oFSEIDb' }],
  [
    'rsync',
    {
      short: 'eM',
      valued: 'fBT',
      long: list('rsh rsync-path config daemon log-file remote-option write-batch only-write-batch'),
      writing: list('--log-file --write-batch --only-write-batch'),
      commands: list('-e --rsh --rsync-path'),
    },
  ],
  [
    'zip',
    {
      short: 'TO',
      long: list('unzip-command test output-file out'),
      exact: ['-TT'],
      writing: list('-O --output-file --out'),
      commands: list('-TT --unzip-command'),
    },
  ],
  ['xmllint', writes({ short: 'o', long: ['output'], exact: ['-o'] })],
  ['xsltproc', writes({ short: 'o', long: list('output writesubtree') })],
  [
    'openssl',
    {
      exact: list('-out -engine -provider -provider-path -writerand -keyout -config'),
      writing: list('-out -writerand -keyout'),
    },
  ],
  [
    'gpg',
    {
      short: 'o',
      long: list('output exec-path photo-viewer keyserver options homedir agent-program dirmngr-program'),
      writing: list('-o --output'),
      commands: list('--photo-viewer --agent-program --dirmngr-program'),
    },
  ],
  ['yq', writes({ short: 'is', long: list('inplace in-place split-exp') })],
  ['jq', writes({ long: ['in-place'] })],
  [
    'pandoc',
    {
      short: 'oFLV',
      long: list('output filter lua-filter pdf-engine extract-media defaults log'),
      writing: list('-o -V --output --extract-media --log'),
      commands: list('-F --filter --pdf-engine'),
    },
  ],
  ['pygmentize', { short: 'ox', long: ['load-from-file'], writing: ['-o'] }],
  ['dot', { short: 'oOl', valued: 'TKGNE', writing: list('-o -O') }],
  ['gs', { short: 'o', exact: list('-sOutputFile') }],
  ['exiftool', { short: 'ow', exact: list('-config -if -execute'), writing: list('-o -w') }],
  ['ctags', { short: 'of', long: list('options tag-file'), writing: list('-o -f') }],
  ['nc', { exact: list('-e -c'), short: 'ec', commands: list('-e -c') }],
  [
    'ncat',
    {
      short: 'eco',
      long: list('exec sh-exec lua-exec output hex-dump'),
      writing: list('-o --output --hex-dump'),
      commands: list('-e -c --exec --sh-exec'),
    },
  ],
  [
    'nmap',
    {
      exact: list('-oN -oX -oS -oG -oA -iL'),
      long: list('script script-args datadir stylesheet'),
      writing: list('-oN -oX -oS -oG -oA -iL --script-args --stylesheet'),
    },
  ],
  ['tcpdump', { short: 'wzW', long: ['relinquish-privileges'], writing: list('-w -W'), commands: ['-z'] }],
  ['strace', { short: 'oO', long: ['output'], writing: ['-O'] }],
  ['ltrace', writes({ short: 'o', long: ['output'] })],
  [
    'gdb',
    {
      short: 'xe',
      exact: list('-ex -iex -x -ix'),
      long: list('command eval-command args init-command init-eval-command'),
    },
  ],
  ['lldb', { short: 'osSOk', long: list('one-line source one-line-before-file source-before-file batch') }],
  ['sqlite3', { exact: list('-init -cmd -A'), long: list('init cmd') }],
  ['psql', { short: 'coLf', long: list('command output log-file file'), writing: list('-L --log-file') }],
  [
    'mysql',
    { short: 'e', long: list('execute tee pager init-command plugin-dir'), writing: ['--tee'], commands: ['--pager'] },
  ],
  ['ip', { short: 'b', exact: list('-batch -force') }],
  ['dpkg', { long: list('pre-invoke post-invoke admindir instdir root') }],
  ['rpm', { short: 'E', long: list('eval pipe define macros rcfile load dbpath root') }],
  ['mongo', { long: ['eval'] }],
  ['mongosh', { long: ['eval'] }],
  ['apt', { short: 'oc', long: list('option config-file') }],
  ['apt-get', { short: 'oc', long: list('option config-file') }],
  [
    'journalctl',
    writes({
      long: list('cursor-file vacuum-size vacuum-time vacuum-files rotate flush sync setup-keys update-catalog'),
    }),
  ],
  ...BUILD_TABLES,
  ...PROJECT_TABLES,
]);
