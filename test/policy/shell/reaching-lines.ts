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
`
  .trim()
  .split('\n');
