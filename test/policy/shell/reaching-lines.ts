/** Each would run `rm`, or may: by an option, a variable, an input, a file of orders, or another program. */
export const reachingLines: readonly string[] = `
git -c alias.x='!rm -rf y' x
git -c core.pager='rm x' log
git -c core.sshCommand='rm x' fetch
git -c core.editor='rm x' commit
git -c core.fsmonitor='rm x' status
git fetch --upload-pack='rm x' .
git ls-remote --upload-pack 'rm x' .
git push --receive-pack='rm x' .
git archive --exec='rm x' --remote=. HEAD
git clone -u 'rm x' . y
git clone -c core.sshCommand='rm x' . y
git rebase -x 'rm x' HEAD~1
git bisect run rm x
git submodule foreach rm x
git submodule foreach 'rm x'
git grep -O'rm x' y
git difftool -x 'rm x' HEAD
git difftool --extcmd='rm x'
git mergetool -t x
git filter-branch --tree-filter 'rm x' HEAD
git config alias.x '!rm x'
git config core.hooksPath y
git config --global core.pager 'rm x'
git --exec-path=/tmp/x status
git --config-env=core.pager=V log
git x
git -c include.path=/x status
git clone 'ext::sh -c rm% x' y
git remote add o 'ext::sh -c rm% x'
git send-email --smtp-server='rm' x
git log --ext-diff
git hook run pre-commit
git daemon
git instaweb
git web--browse x
awk 'BEGIN{system("rm x")}'
gawk 'BEGIN{"rm x" | getline}'
awk 'BEGIN{print "x" | "rm x"}'
awk -f prog.awk
gawk -l ext 'x'
gawk -i inplace '{print}' f
gawk --exec=f
sed '1e rm x'
sed 's/a/b/e' f
sed -f script f
sed --expression='1e rm x' f
tar cf x.tar --checkpoint=1 --checkpoint-action=exec='rm x' f
tar xf x.tar --to-command='rm x'
tar -I 'rm x' -cf x f
tar --use-compress-program='rm x' -cf x f
tar -cf x --rsh-command='rm x' h:f
tar xf x.tar -F 'rm x'
bsdtar --use-compress-program 'rm x' -xf y
make -f -
make SHELL=rm
make -f Makefile2
make --eval='x:; rm x'
perl -e 'unlink "x"'
perl -ne 'x' f
python -c 'import os'
python3 - <<E
python3 -m timeit 'x'
ruby -e 'x'
node -e 'x'
node -p 'x'
node --eval 'x'
deno eval 'x'
bun -e 'x'
php -r 'x'
lua -e 'x'
ssh host rm x
ssh -o ProxyCommand='rm x' host
ssh -oProxyCommand='rm x' host
docker run alpine rm x
docker exec c rm x
docker run --rm -v /:/h alpine sh -c 'rm -rf /h'
docker run --entrypoint rm alpine x
docker compose exec web rm x
podman run alpine rm x
kubectl exec pod -- rm x
nix-shell --run 'rm x'
nix develop -c rm x
find . -exec rm {} \\;
fd x -x rm
fd x --exec rm
xargs rm
parallel rm ::: x
parallel 'rm {}' ::: x
watch rm x
watch -n1 rm x
watch -n 1 'rm x'
script -c 'rm x' /dev/null
script -qc 'rm x' /dev/null
su -c 'rm x'
su root -c 'rm x'
sudo rm x
sudo -s rm x
sudo -i
sudo sh
doas rm x
flock /tmp/l rm x
flock /tmp/l -c 'rm x'
strace rm x
ltrace rm x
gdb -ex '!rm x' -batch
gdb --args rm x
lldb -o 'x' 
vim -c '!rm x' -c q
vim '+!rm x'
vim -es -c x
nvim --headless -c x
ex -c x
ed f
emacs --batch --eval '(x)'
less '+!rm x' f
man -P 'rm x' ls
man --pager='rm x' ls
man -H'rm x' ls
rsync -e 'rm x' a h:b
rsync --rsh='rm x' a h:b
rsync --rsync-path='rm x' a h:b
zip x.zip f -T -TT 'rm x'
zip x.zip f -T --unzip-command='rm x'
env -S 'rm x'
env -S 'sh -c "rm x"'
busybox sh -c 'rm x'
busybox rm x
toybox rm x
/lib64/ld-linux-x86-64.so.2 /bin/rm x
ld.so /bin/rm x
/lib/ld-musl-x86_64.so.1 /bin/rm x
BASH_ENV=x bash -c ls
BASH_ENV='$(rm x)' bash -c ls
ENV=x sh -i
GIT_SSH_COMMAND='rm x' git fetch
GIT_EDITOR='rm x' git commit
GIT_PAGER='rm x' git log
PAGER='rm x' man ls
PAGER='rm x' git -p log
LESSOPEN='|rm x' less f
LD_PRELOAD=./x.so ls
PATH=.:$PATH ls
EDITOR='rm x' crontab -e
VISUAL='rm x' sudoedit f
export PATH=.; ls
export LD_PRELOAD=./x.so; ls
declare -x BASH_ENV=x
IFS=x ls
MANPAGER='rm x' man ls
PROMPT_COMMAND='rm x' bash -i
PERL5OPT=-Mx perl f
PYTHONSTARTUP=x python f
NODE_OPTIONS='--require ./x' node f
RUBYOPT=-rx ruby f
crontab f
crontab -
at now
batch
nc -e /bin/rm h 1
ncat -c 'rm x' h 1
socat - EXEC:'rm x'
socat - SYSTEM:'rm x'
openssl engine -t x
gpg --photo-viewer 'rm x' f
expect -c 'spawn rm x'
tclsh
sqlite3 x.db '.shell rm x'
sqlite3 x.db ".system rm x"
psql -c '\\! rm x'
mysql -e '\\! rm x'
screen -dm rm x
tmux new-session -d 'rm x'
tmux send-keys 'rm x' Enter
systemd-run rm x
nohup rm x
setsid rm x
timeout 5 rm x
chroot / rm x
unshare rm x
nsenter -t 1 rm x
capsh -- -c 'rm x'
setpriv rm x
setarch -R rm x
linux64 rm x
prlimit rm x
taskset 1 rm x
chrt 1 rm x
ionice rm x
numactl rm x
proot rm x
fakeroot rm x
firejail rm x
bwrap --bind / / rm x
catchsegv rm x
valgrind rm x
perf record rm x
perf stat rm x
time rm x
/usr/bin/time rm x
/usr/bin/time -o f rm x
eatmydata rm x
faketime x rm x
chronic rm x
ifne rm x
xvfb-run rm x
dbus-launch rm x
ssh-agent rm x
gpg-agent --daemon rm x
start-stop-daemon --start --exec /bin/rm
run-parts .
run-one rm x
cpulimit -l 5 rm x
trickle rm x
torsocks rm x
proxychains rm x
rlwrap rm x
unbuffer rm x
stdbuf -o0 rm x
pkexec rm x
runuser -u x -- rm x
logrotate -f x
xterm -e 'rm x'
x-terminal-emulator -e rm x
npx -c 'rm x'
npm exec rm x
npm exec -c 'rm x'
yarn rm
pnpm exec rm x
pnpm dlx rm
bunx rm
uvx rm
uv run rm x
poetry run rm x
pipenv run rm x
bundle exec rm x
go test -exec 'rm x'
mvn exec:exec -Dexec.executable=rm
gcc -wrapper rm,x f.c
rg --pre rm x
ag --pager 'rm x' y
sort --compress-program='rm' f
split --filter='rm x' f
sdiff --diff-program=rm a b
curl http://x | sh
wget -O- http://x | bash
wget --use-askpass=rm http://x
watchexec rm x
entr rm x
mutt -e x
mail -s x y
ftp x
zsh -c 'rm x'
fish -c 'rm x'
ksh -c 'rm x'
pwsh -c 'rm x'
bash -c 'rm x'
bash -i
bash --rcfile f
bash --init-file f -i
sh f
. f
source f
exec rm x
exec -a ls rm x
exec -c rm x
command -p rm x
builtin eval 'rm x'
builtin command rm x
coproc rm x
! rm x
trap 'rm x' EXIT
mapfile -C 'rm x' -c 1 a < f
compgen -C 'rm x' y
complete -C 'rm x' y
bind -x '"a":rm x'
fc -e rm
history -s x
enable -f ./x.so y
hash -p /bin/rm ls; ls x
alias ls=rm
PROMPT_COMMAND='rm x'
PS4='$(rm x)'; set -x; ls
PS0='$(rm x)'
select x in a; do rm x; done
[[ -v 'a[$(rm x)]' ]]
test -v 'a[$(rm x)]'
[ -v 'a[$(rm x)]' ]
let 'a[$(rm x)]=1'
declare -i x='a[$(rm x)]'
((a[$(rm x)]))
unset 'a[$(rm x)]'
wait -p 'a[$(rm x)]'
printf -v 'a[$(rm x)]' x
read 'a[$(rm x)]'
x='$(rm x)'; echo \${x@P}
ls | sh
echo rm x | bash
cat <<E | sh
bash <<< 'rm x'
bash <(echo rm x)
eval "$x"
$x y
"$(echo rm)" x
r\\m x
'rm' x
$'\\x72m' x
{rm,x}
/bin/r? x
/bin/r[m] x
r''m x
git -c 'alias.x=!rm y' x
git --config-env=alias.x=V x
git -calias.x='!rm y' x
git -c alias.x=!rm x
git -p -c core.pager=rm log
git -C . -c core.pager=rm log
git log --output=M --ext-diff
git diff --ext-diff
git rebase --exec 'rm x' main
git rebase --exec='rm x' main
git rebase -i --exec='rm x' main
git rebase -ix 'rm x' main
git bisect run sh -c 'rm x'
git bisect run -- rm x
git submodule --quiet foreach 'rm x'
git submodule foreach --recursive rm x
git config --file f alias.x '!rm'
git config set alias.x '!rm'
git config --add alias.x '!rm x'
git config --replace-all core.pager 'rm x'
git config core.editor rm
git config --edit
git config -e
git stash list --ext-diff
git filter-branch --index-filter 'rm x'
git difftool --tool=x
git gui
git svn clone x
git lfs x
git p4 x
git init --template=/tmp/x
git clone --template=/tmp/x a b
git clone --upload-pack 'rm x' a b
git clone --config core.pager='rm x' a b
git pull --upload-pack 'rm x'
git push --exec='rm x'
git fetch-pack --upload-pack='rm x' .
git send-pack --exec='rm x' .
git upload-pack .
git shell -c 'rm x'
git hook run x
git maintenance start
git credential fill
git difftool -y -x rm
git grep --open-files-in-pager='rm x' y
git grep --open-files-in-pager=rm y
git mergetool
command git -c alias.x='!rm' x
env git -c alias.x='!rm' x
/usr/bin/git -c alias.x='!rm' x
sudo git -c alias.x='!rm' x
awk -v x=1 'BEGIN{system("rm")}'
awk -F: 'BEGIN{system("rm")}' f
awk -- 'BEGIN{system("rm")}'
awk -e 'BEGIN{system("rm")}'
gawk -E f
gawk --load x 'BEGIN{}'
gawk -lx 'BEGIN{}'
gawk --include x 'BEGIN{}'
awk -f /dev/stdin
mawk -W exec f
busybox awk 'BEGIN{system("rm")}'
awk 'BEGIN{cmd="rm"; cmd | getline}'
awk 'BEGIN{print 1 | "rm x"}'
gawk 'BEGIN{@load "x"}'
gawk '@include "x"'
gawk 'BEGIN{f="system"; @f("rm")}'
sed -e '1e rm x' f
sed -n '$!N;s/x/rm/e' f
sed 's/x/y/ge' f
sed '/x/e' f
sed --file=f x
sed -s -f f
sed -nf f
tar -c --checkpoint-action exec='rm x' f
tar --checkpoint-ac=exec=rm -cf x f
tar cfI x rm f
tar -cIrm -f x
tar --to-c='rm x' -xf f
tar xOf f --to-command rm
tar --use-compress='rm x' -xf f
tar -xf h:f --rsh-command=rm
tar -xf h:f
tar cf x -T f
tar --files-from=f -cf x
tar --info-script=rm -cf x f
tar --new-volume-script='rm x' -M -cf x f
tar -F rm -cf x
cpio --rsh-command=rm -o
cpio -o -H tar -F h:x
make -f- x
make --file=- x
make SHELL='rm' x
make CC='rm x' x
make -e x SHELL=rm
make --eval '$(shell rm x)'
make --eval='$(shell rm x)'
make 'X=$(shell rm x)'
make MAKEFLAGS=--eval=x
gmake -f x
ninja -f x
cmake -E rm x
cmake -P x.cmake
cmake -E env rm x
rake -e 'x'
rake -f x
perl -le 'x'
perl -Mx -e1
perl -pi -e 's/x/y/' f
perl -ne 'system("rm")' f
perl -E 'x'
perl - <<< x
perl <<< x
python -
python -cimport\\ os
python -Ic 'x'
python -m timeit 'x'
python -m code
python -m pdb x
python -m cProfile x
python -i x
python3.12 -c x
pypy -c x
python /dev/stdin
python /dev/fd/3
python <(echo x)
python - < f
python < f
ruby -rx -e 'x'
ruby -ne 'x' f
node --require ./x y
node --import x y
node -pe 'x'
node -r x y
node --input-type=module -e x
node -
node < f
node -i
php -a
php -B x
lua -
lua -l x
tclsh <<< x
Rscript -e 'x'
julia -e x
ghc -e x
ocaml -e x
swift -e x
scala -e x
groovy -e x
elixir -e x
erl -eval x
sbcl --eval x
guile -c x
racket -e x
osascript -e 'do shell script "rm"'
octave --eval x
gnuplot -e x
maxima --batch-string=x
expect -c x
wish
ssh -o 'ProxyCommand rm' h
ssh -F f h
ssh -tt h 'rm x'
ssh -- h rm x
ssh -l u h rm x
ssh -p22 h rm x
ssh u@h "cd x; rm y"
ssh h bash -s
ssh h bash -c 'rm x'
ssh h "$x"
ssh h sudo rm x
ssh h -- rm x
ssh -J j h rm x
mosh h rm x
sftp -b f h
sftp -S rm h
scp -S rm a h:b
scp -o ProxyCommand=rm a h:b
rsync -ae 'rm' a h:b
rsync --rsh 'sh -c rm' a h:b
rsync -M--rsh=rm a h:b
docker run -it --rm x rm y
docker run --entrypoint=rm x
docker exec -u 0 c sh -c 'rm x'
docker-compose run web rm x
docker compose run web rm x
docker build --build-arg x=rm .
podman exec c rm x
lxc exec c -- rm x
lxc-attach -n c -- rm x
kubectl run x --image=y -- rm
kubectl exec -it p -- sh -c 'rm x'
oc exec p -- rm x
nerdctl run x rm y
crictl exec c rm x
machinectl shell x rm
systemd-nspawn rm x
vagrant ssh -c 'rm x'
multipass exec x rm
gcloud compute ssh x --command='rm y'
aws ssm send-command --parameters 'commands=rm x'
adb shell rm x
wsl rm x
ansible all -a 'rm x'
ansible all -m shell -a 'rm x'
pdsh -w h rm x
parallel-ssh -h f rm x
salt '*' cmd.run 'rm x'
fab -- rm x
nix-shell -p x --run 'rm y'
nix shell x -c rm y
guix shell x -- rm y
conda run rm x
mamba run rm x
micromamba run rm
direnv exec . rm x
asdf exec rm x
mise exec -- rm x
rbenv exec rm x
pyenv exec rm x
pipx run --spec x rm
uv tool run rm
uv run --with x rm
hatch run rm x
tox -e x -- rm
nox -- rm
poetry run rm
pdm run rm
rye run rm
lerna exec rm
npx lerna exec -- rm x
nx exec -- rm x
pnpm -r exec rm x
pnpm --filter x exec rm
yarn exec rm x
yarn workspaces foreach run rm
bun run rm
bunx rm x
deno run -A npm:x rm
cargo run -- rm
cargo watch -x rm
cargo watch -s 'rm x'
go run x rm
go vet -vettool=rm
go build -toolexec 'rm x'
go build -toolexec=rm
dotnet exec rm
java -cp x rm
bazel run //x -- rm
time -f x rm
/usr/bin/time -f x rm y
\\time rm x
command time rm x
strace -o '|rm x' ls
strace -e x rm y
ltrace -o f rm x
perf stat -o f -- rm x
valgrind --tool=x rm y
valgrind --trace-children=yes rm y
gdb -x f
gdb --batch --command=f
gdb -p 1 -ex 'shell rm'
lldb -s f
lldb -o 'platform shell rm'
rr record rm x
heaptrack rm x
hyperfine 'rm x'
hyperfine --prepare 'rm x' ls
entr -s 'rm x'
watch -x rm y
watch --interval 1 rm
watch -d 'rm x'
timeout --signal 9 1 rm x
timeout -s KILL 1 sh -c 'rm x'
parallel --jobs 1 rm ::: x
parallel ::: 'rm x'
parallel < f
xargs -a f sh -c
xargs sh -c 'rm "$@"' _
xargs -I{} sh -c 'rm {}'
xargs -P4 -I% rm %
find . -exec sh -c 'rm "$1"' _ {} \\;
find . -execdir rm {} +
find . -ok rm {} \\;
find . -exec env rm {} \\;
find . -exec {} \\;
fd -e x -X rm
fd -x sh -c 'rm {}'
script -q -c 'rm x'
script f -c 'rm x'
script --command='rm x'
su - -c 'rm x'
su -s /bin/sh -c 'rm x' u
su -lc 'rm x'
su u --command='rm x'
su --session-command 'rm x'
runuser -l u -c 'rm x'
sg g 'rm x'
sg g -c 'rm x'
newgrp x
sudo -u u -- rm x
sudo -E env rm x
sudo --user=u rm x
sudo -u u -i rm x
sudo bash -c 'rm x'
sudo --shell rm x
sudo VAR=1 rm x
doas -u u rm x
doas -s
pkexec --user u rm x
gksudo 'rm x'
kdesu rm x
chroot --userspec=x / rm x
unshare -r rm x
unshare --mount sh -c 'rm x'
nsenter -t 1 -m rm x
setpriv --reuid=1 rm x
capsh --user=x -- -c 'rm y'
flock -n f rm x
flock f --command 'rm x'
flock -x 9 && rm x
ionice -c3 rm x
chrt -f 1 rm x
taskset -c 1 rm x
numactl --all rm x
cgexec -g x rm
systemd-run --user rm x
systemd-inhibit rm x
at -f f now
batch < f
crontab - <<< '* * * * * rm'
screen -S x -X stuff 'rm'
screen -dmS x rm y
tmux new -d 'rm x'
tmux send-keys -t x 'rm y' C-m
tmux run-shell 'rm x'
zellij run -- rm x
dtach -n x rm y
nohup sh -c 'rm x' &
setsid sh -c 'rm x'
disown; rm x
vim -c ':!rm x' -c ':q'
vim --cmd '!rm x'
vim -S f
vim -u f
vi -c '!rm'
view -c '!rm'
ex -sc '!rm x' f
nvim -l f.lua
nvim +'!rm x'
emacs -Q --eval '(shell-command "rm")'
emacs -nw -f shell
emacsclient -e '(shell-command "rm")'
ed -s f <<< '!rm x'
ed < f
nano -s 'rm x' f
less -k f x
less +'!rm' f
lesspipe rm
LESSOPEN='|rm %s' less f
LESS='+!rm' less f
MANOPT='-P rm' man ls
man -C f ls
bat --pager='rm x' f
BAT_PAGER='rm x' bat f
delta --pager 'rm'
zip -TmTT rm x y
zip x y -T --unzip-command rm
dpkg --pre-invoke=rm -i f
rpm --eval '%(rm x)'
rpm --pipe 'rm x' -q y
apt -o APT::Update::Pre-Invoke::='rm x' update
apt-get -oDpkg::Pre-Invoke::='rm' install x
openssl req -engine ./x
curl --engine x u
curl -K f
wget -e use_askpass=rm u
wget --execute use_askpass=rm u
aria2c --on-download-complete=rm u
youtube-dl --exec 'rm x' u
yt-dlp --exec 'rm {}' u
pdftex --shell-escape x
pdflatex -shell-escape x
latexmk -e 'system("rm")'
xelatex --shell-escape x
hping3 --x rm
tcpdump -z rm -w x
tcpdump -G 1 -z 'rm' -w x
socat TCP:x EXEC:rm
socat x SYSTEM:'rm y'
nc -c 'rm x' h 1
nc -lp 1 -e rm
ncat --exec 'rm x' h 1
ncat --sh-exec 'rm x' h 1
nmap --script ./x.nse h
mysql -e 'system rm x'
mysql --pager='rm x'
psql -f f
sqlite3 x '.system rm'
sqlite3 -cmd '.shell rm' x
sqlite3 x < f
mongo --eval x
ip netns exec x rm y
ip vrf exec x rm y
ip -b f
ldd rm
ld.so --library-path x /bin/rm y
/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 rm x
busybox sh -c 'rm'
busybox ash f
busybox env rm x
toybox sh -c 'rm'
LD_PRELOAD=x ls
LD_LIBRARY_PATH=x ls
LD_AUDIT=x ls
PATH=x:$PATH ls
HOME=x git log
XDG_CONFIG_HOME=x git log
GIT_CONFIG_GLOBAL=x git log
GIT_EXTERNAL_DIFF=rm git diff
GIT_PROXY_COMMAND=rm git fetch
GIT_ASKPASS=rm git fetch
SSH_ASKPASS=rm ssh h
GIT_SEQUENCE_EDITOR=rm git rebase -i x
EDITOR=rm git commit
VISUAL=rm crontab -e
PAGER=rm git log
BROWSER=rm git web--browse
MAKEFLAGS=--eval=x make
MAKEFILES=x make
PERL5LIB=x perl y
PERL5DB=x perl -d y
PYTHONPATH=x python y
PYTHONINSPECT=1 python x
PYTHONWARNINGS=x python y
RUBYLIB=x ruby y
NODE_PATH=x node y
BASH_ENV=x sh -c ls
ENV=x sh -c ls
SHELLOPTS=xtrace PS4='$(rm)' bash -c ls
BASHOPTS=x ls
PS4='$(rm)' bash -xc ls
PROMPT_COMMAND=rm bash
GCONV_PATH=x ls
TERMINFO=x ls
JAVA_TOOL_OPTIONS=-javaagent:x java y
_JAVA_OPTIONS=x java y
RUSTC_WRAPPER=rm cargo build
CC=rm make
GOFLAGS=-toolexec=rm go build
npm_config_script_shell=rm npm test
NPM_CONFIG_SCRIPT_SHELL=rm npm test
TAR_OPTIONS=--to-command=rm tar xf y
RSYNC_RSH=rm rsync a h:b
RIPGREP_CONFIG_PATH=x rg y
CURL_HOME=x curl y
WGETRC=x wget y
SUDO_ASKPASS=rm sudo -A ls
KUBECONFIG=x kubectl y
DOCKER_HOST=x docker ps
AWS_CONFIG_FILE=x aws y
export GIT_PAGER=rm; git log
export PATH=x; ls
declare -x LD_PRELOAD=x; ls
typeset -x PATH=x
readonly PATH=x
printf -v PATH x; ls
read PATH < f; ls
for PATH in x; do ls; done
PATH=x eval ls
: \${PATH:=x}
env -i PATH=x ls
env PATH=x ls
env LD_PRELOAD=x ls
`
  .trim()
  .split('\n');

/** What is done all day: none of these runs `rm`, whatever it names. */
export const plainLines: readonly string[] = `
ls -la
git status
git -C dir status
git commit -m 'remove rm'
git commit -am "rm the old file"
git log --oneline -5
git diff HEAD~1
git -c color.ui=always log
git -c user.name=x commit -m y
git -c core.pager=cat log
git -c core.quotepath=off ls-files
git config user.name
git config --get remote.origin.url
git config user.email a@b
git config --global init.defaultBranch main
git config -l
git push origin main
git fetch --all
git rebase -i HEAD~3
git stash push -m "rm x"
git clone https://github.com/a/b
git grep rm
git log --grep=rm
git show HEAD:rm.txt
git bisect run npm test
git submodule update --init
git submodule foreach git pull
git archive -o x.zip HEAD
git bundle create x.bundle HEAD
git worktree add ../x
grep -rn rm src
rg 'rm -rf' src
echo rm x
printf 'rm\\n'
cat rm.txt
sed -i 's/rm/del/' f
sed -n '1,5p' f
sed 's/a/b/w out' f
awk '{print $1}' f
awk '{print > "out"}' f
find . -name '*.ts' -exec ls {} +
find . -name rm
find . -delete
find . -type f | xargs grep rm
tar cf x.tar src
tar xzf x.tgz
tar -I zstd -xf x
tar --use-compress-program=pigz -cf x y
curl -o f http://x
curl -sSL "$url"
wget http://x
python script.py
python3 -m pytest tests
python -m venv .venv
python -m pip install x
node server.js
node --test
node --check f.js
npm test
npm run build
npm install
npm ci
npm run lint -- --fix
npx vitest run
npx tsc --noEmit
npm exec vitest
yarn build
pnpm install
cargo build
cargo test --release
go build ./...
go test ./...
go run .
make
make test
make -j4
make V=1 all
make -C sub all
docker ps
docker build -t x .
docker run --rm alpine ls
docker compose up -d
docker exec -it web ls
kubectl get pods
kubectl logs x
ssh host ls
ssh host
rsync -av a b
rsync -e ssh a h:b
sort -u f
sort -o f f
tee f
dd if=a of=b
zip -r x.zip d
unzip x.zip
less f
man ls
jq . f
yq .a f
sqlite3 x.db 'select 1'
psql -h x
vim f
env ls
timeout 5 ls
sudo ls
nice make
nohup npm start
xargs -n1 echo
bash -c 'ls; pwd'
watch ls
flock l ls
gcc -o x x.c
gcc -Wall -O2 -DFOOB -c f.c
cc f.c
rustc f.rs
tsc -p .
eslint --fix src
prettier --write src
pytest -x
pytest -p no:cacheprovider
mypy src
ruff check --fix
jest -u
./script.sh
./node_modules/.bin/vitest
gh pr list
gh pr create --title x --body "A text, (with) 'things'"
brew install jq
apt-get install -y jq
pip install requests
terraform plan
aws s3 ls
for f in *.ts; do echo $f; done
while read l; do echo "$l"; done < f
if [ -f x ]; then cat x; fi
x=1; echo $x
cd src && ls
export FOO=1
FOO=1 npm test
NODE_ENV=test npm test
CI=1 npm test
ls > out
ls 2>&1 | head
chmod +x f
mkdir -p a/b
touch f
cp a b
mv a b
ln -s a b
kill 1
ps aux
which rm
type rm
command -v rm
man rm
uname -a
date
test -f x && ls
[[ -f x ]] && ls
echo $((1+2))
echo "$(date)"
cmake -B build
cmake --build build
mvn test
./gradlew build
java -jar x.jar
deno test
deno run x.ts
bun test
bun run x
ruby x.rb
perl x.pl
php x.php
uv run pytest
poetry run pytest
bundle exec rspec
valgrind ./x
strace ls
gdb ./x
time ls
cmake -DCMAKE_BUILD_TYPE=Release -B build
rake test
pytest -k 'not rm_slow' -m slow
python3 -W ignore script.py
python -u script.py --flag
kubectl get pods -l app=x
sqlite3 x.db 'select * from a; delete from b'
psql -h host -U user -d db
docker run -it --rm -v .:/w -w /w node:20 npm test
docker build -t x --build-arg V=1 .
ssh -p 22 -i key user@host uptime
`
  .trim()
  .split('\n');
