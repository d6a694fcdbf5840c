#!/usr/bin/env bash
# scripts/fresh_machine.sh [OPTIONS] REPOSITORY COMMAND...: runs each COMMAND, one line of shell, on a bare machine in a fresh clone.
#
# The machine is a chroot with Debian 12's base system, ca-certificates, git and make: a clean environment, an empty home, no terminal, no
# data. What a command needs and does not install is missing there, as on a stranger's machine. The clone has what REPOSITORY has committed
# at its HEAD. Of this machine it has the network: name servers, certificates, package mirrors, proxies and the settings of pip.
#
#   scripts/fresh_machine.sh . 'make demo' 'make test'
#
#   --release NAME  bookworm (Debian 12, the default) or noble (Ubuntu 24.04)
#   --mirror URL    the mirror of its packages, where the usual one will not do
#   --ccache DIR    lends the compiler's cache; times of builds are then no stranger's
#   --torch DIR     lends the folder that libtorch is downloaded into (~/.cache/debias), likewise
#   --data DIR      lends the data of the tests, read-only
#   --take PATH     copies this file or folder of the clone into REPOSITORY at the end, where it should be ignored by git
#   --verbose       prints all that the commands print, not their last lines alone
#   --keep          leaves the machine's folder and says where it is
#
# After each command come its exit code and seconds. The status is the code of the first that failed; 1 where all passed and left files
# in the clone that git does not ignore; 2 for a wrong command line; 125 where there can be no such machine, with one line that says why.
# Needs root, the right to mount, and apt-get, which installs debootstrap where it is missing. The base system is made once a month, in a
# minute, and kept in FRESH_MACHINE_CACHE (~/.cache/fresh-machine). Every mount is in a namespace that ends with its command: nothing of
# this machine is mounted where the folder is deleted.
set -uo pipefail
export LC_ALL=C
short_usage="usage: scripts/fresh_machine.sh [OPTIONS] REPOSITORY COMMAND... (--help says more)"

misuse() { printf 'fresh_machine: %s\n' "$*" >&2; exit 2; }
stop() { printf 'fresh_machine: %s\n' "$*" >&2; exit 125; }
reason() { { grep -m 1 "^E: " "$work/log" || tail -n 1 "$work/log"; } | cut -c 1-200; }

release=bookworm mirror="" ccache="" torch="" data="" take="" verbose="" keep=""
while [ $# -gt 0 ]; do
  case $1 in
    --release | --mirror | --ccache | --torch | --data | --take)
      [ -n "${2:-}" ] || misuse "$1 needs a value; $short_usage"
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    --verbose | --keep) printf -v "${1#--}" yes; shift ;;
    -h | --help) sed -n '2,/^set -/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 0 ;;
    -*) misuse "unknown option $1; $short_usage" ;;
    *) break ;;
  esac
done
[ $# -ge 2 ] || misuse "$short_usage"
[[ $take != /* && /$take/ != */../* ]] || misuse "--take $take: name a path in the clone, without .."

case $release in
  bookworm) family=debian script=sid components=main keyring=debian-archive-keyring ;;
  noble) family=ubuntu script=gutsy components=main,universe keyring=ubuntu-keyring ;;
  *) misuse "--release $release: bookworm and noble are known" ;;
esac
for lent in ccache torch data; do
  [ -n "${!lent}" ] || continue
  [ -d "${!lent}" ] || misuse "--$lent ${!lent}: there is no such folder"
  printf -v "$lent" %s "$(realpath "${!lent}")"
done
repository=$(realpath -e "$1" 2>/dev/null) || misuse "there is no repository $1"
shift

[ "$(id -u)" = 0 ] || stop "needs root; run it with sudo"
command -v git >/dev/null || stop "no git here to clone with"
command -v apt-get >/dev/null || stop "no apt-get here: a Debian or an Ubuntu makes the machine"
work=$(mktemp -d) root="" place="" child=""

cleanup() {
  local status=$?
  trap - EXIT
  trap '' HUP INT TERM
  if [ -n "$child" ]; then  # with which every process of the machine ends
    kill -KILL "$child" 2>/dev/null
    wait "$child" 2>/dev/null
  fi
  rm -rf "$work"
  if [ -n "$root" ] && [ -n "$keep" ]; then
    echo "fresh_machine: kept $root, with the clone in $root$place"
  elif [ -n "$root" ] && grep -qF " $root/" /proc/self/mountinfo; then
    echo "fresh_machine: something is mounted below $root, which is therefore left" >&2
  elif [ -n "$root" ]; then
    rm -rf --one-file-system "$root" 2>/dev/null || { sleep 1; rm -rf --one-file-system "$root"; }  # a killed process may just be writing
  fi
  exit "$status"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# A command with processes and mounts of its own. It is waited for, so that signals are obeyed at once.
apart() {
  unshare --mount --pid --fork --kill-child --mount-proc "$@" </dev/null &
  child=$!
  wait "$child"
  local status=$?
  child=""
  return $status
}

printf '[safe]\n\tdirectory = *\n' >"$work/gitconfig"  # a repository may belong to another user than root
export GIT_CONFIG_GLOBAL=$work/gitconfig
commit=$(git -C "$repository" rev-parse -q --verify HEAD 2>/dev/null) || misuse "$repository is no git repository with a commit"
changed=$(git -C "$repository" status --porcelain 2>/dev/null | wc -l)
apart true >"$work/log" 2>&1 || stop "this machine gives no right to mount, not even to root: $(reason)"

# How this machine's apt reaches its mirrors.
apt-config dump 2>/dev/null | grep -E '^Acquire::(https?::|Retries|ForceIPv)' >"$work/apt"
proxy=$(sed -nE 's/^Acquire::http::Proxy "(http[^"]*)";$/\1/p' "$work/apt")
fetch() {
  /usr/lib/apt/apt-helper -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=20 download-file "$@" >"$work/log" 2>&1
}
answers() {
  rm -f "$work/release"
  fetch "$1/dists/$2/InRelease" "$work/release"
}

apt_install() {
  apt-get update -q >"$work/log" 2>&1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$1" >"$work/log" 2>&1
}
command -v debootstrap >/dev/null || apt_install debootstrap || stop "debootstrap cannot be installed: $(reason)"
scripts=/usr/share/debootstrap/scripts
[ ! -e "$scripts/$release" ] || script=$release

# The lines of sources.list. Where this machine is of the same release, they are its own.
own_sources() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null | sort -u |
    awk -v suite="^$release(-updates|-security)?\$" -v component="^(${components/,/|})\$" '/^https?:/ && $2 ~ suite && $3 ~ component {print "deb", $0}'
}
usual_mirror() {  # debootstrap's choice: a line of its script of a family of releases, or a variable
  ARCH=$(dpkg --print-architecture) SUITE=$release bash -c 'default_mirror() { echo "$1"; }; . "$0"' "$scripts/$script" 2>/dev/null | grep . ||
    sed -n 's/^DEF_MIRROR="\(.*\)"$/\1/p' "$(command -v debootstrap)"
}
if [ -z "$mirror" ]; then own_sources >"$work/sources"; fi
if [ -s "$work/sources" ]; then
  mirror=$(awk -v suite="$release" '$3 == suite {print $2; exit}' "$work/sources")
fi
mirror=${mirror:-$(usual_mirror)}
mirror=${mirror%/}
answers "$mirror" "$release" || stop "no packages of $release at $mirror: $(reason); --mirror names another place"
if [ ! -s "$work/sources" ]; then
  printf "deb $mirror %s ${components/,/ }\n" "$release" "$release-updates" >"$work/sources"
  security=$mirror
  [ "$family" = ubuntu ] || security=$mirror-security
  if answers "$security" "$release-security"; then echo "deb $security $release-security ${components/,/ }" >>"$work/sources"; fi
fi

make_base() {
  local keys=/usr/share/keyrings/$family-archive-keyring.gpg package=ubuntu-keyring_2023.11.28.1_all.deb
  [ -s "$keys" ] || apt_install "$keyring"
  if [ ! -s "$keys" ] && [ "$family" = ubuntu ]; then  # Debian has no package of Ubuntu's keys
    fetch "$mirror/pool/main/u/ubuntu-keyring/$package" "$work/$package" SHA256:36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8 &&
      dpkg -x "$work/$package" "$work/keyring"
    keys=$work/keyring$keys
  fi
  [ -s "$keys" ] || stop "the keys of $release's packages cannot be had: $(reason)"
  http_proxy=${http_proxy:-$proxy} apart debootstrap --variant=minbase --keyring="$keys" --components="$components" \
    --include=ca-certificates,git,make "$release" "$root" "$mirror" "$scripts/$script" >"$work/log" 2>&1 || stop "debootstrap failed: $(reason)"
  if ! { tar -C "$root" -cf "$base.$$" . && mv "$base.$$" "$base"; } 2>"$work/log"; then
    rm -f "$base.$$"
    stop "$base cannot be written: $(reason)"
  fi
}
cache=${FRESH_MACHINE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/fresh-machine}
base=$cache/$release.tar
mkdir -p "$cache" && [ -O "$cache" ] || stop "$cache has to be a folder of root's"
root=$(mktemp -d /var/tmp/fresh-machine-XXXXXX) || stop "no folder can be made in /var/tmp"
if [ -n "$(find "$base" -size +0 -mtime -30 2>/dev/null)" ]; then
  tar -C "$root" -xf "$base" 2>"$work/log" || stop "$base cannot be unpacked: $(reason)"
else
  make_base
fi
chmod 755 "$root"  # mktemp's folder is root's alone, and "/" is crossed by all

# Its ways to the network are this machine's. A file that a setting names is wanted at the same place.
lend_files() {
  local file
  for file in "$@"; do
    if [[ $file == /* ]] && [ -f "$file" ] && [ ! -e "$root$file" ]; then install -D -m 644 "$file" "$root$file"; fi
  done
}
rm -rf "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/*
cp "$work/sources" "$root/etc/apt/sources.list"
cp "$work/apt" "$root/etc/apt/apt.conf.d/90network"
for file in resolv.conf hosts pip.conf; do
  [ ! -e "/etc/$file" ] || cp -L --remove-destination "/etc/$file" "$root/etc/$file"
done
for folder in /etc/ssl/certs /usr/local/share/ca-certificates; do
  [ ! -d "$folder" ] || { mkdir -p "$root$folder" && cp -Lr "$folder/." "$root$folder/" 2>/dev/null; }
done
home=${HOME:-/root}
[[ $home == /?* && $home != /dev/* ]] || home=/root
mkdir -p "$root$home"
for file in .config/pip/pip.conf .pip/pip.conf; do
  [ ! -f "$home/$file" ] || install -D -m 600 "$home/$file" "$root$home/$file"
done
environment=()
passed='^(PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|TRUSTED_HOST|PROXY|DEFAULT_TIMEOUT|TIMEOUT|RETRIES)|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE'
passed+='|CURL_CA_BUNDLE|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY)='
while IFS= read -r -d '' setting; do
  if [[ $setting =~ $passed ]]; then
    environment+=("$setting")
    lend_files "${setting#*=}"
  fi
done < <(env -0)
mapfile -t named < <(sed -nE 's/^.* "(\/.*)";$/\1/p' "$work/apt")
lend_files "${named[@]}"
[ -z "$data" ] || environment+=(DEBIAS_TEST_DATA=/srv/data)

# The clone lies where the repository does, so that compilers see the same paths and a lent cache serves both. But never where something
# of this machine is mounted: the commands would run in the repository itself.
place=$repository
for mounted in /proc /dev /sys "$home/.cache/ccache" "$home/.cache/debias" /srv/data; do
  [[ $place/ != "$mounted"/* ]] || place=/root/stranger
done
[ -z "$(ls -A "$root$place" 2>/dev/null)" ] || place=/root/stranger
git clone -q --no-hardlinks "$repository" "$root$place" >"$work/log" 2>&1 || stop "the repository cannot be cloned: $(reason)"
[ "$(git -C "$root$place" rev-parse HEAD)" = "$commit" ] || stop "the clone of $repository is not at its HEAD, $commit"
[ "$changed" -eq 0 ] || echo "fresh_machine: $changed paths are changed and not committed; the clone is at ${commit:0:8}"

# The first process stays, to end those that lose their parents.
inside='
  root=$1 place=$2 home=$3 ccache=$4 torch=$5 data=$6 line=$7
  shift 7
  lend() { [ -z "$1" ] || { mkdir -p "$root$2" && mount --bind "$1" "$root$2"; }; }
  mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" &&
    lend "$ccache" "$home/.cache/ccache" && lend "$torch" "$home/.cache/debias" && lend "$data" /srv/data &&
    { [ -z "$data" ] || mount -o remount,bind,ro "$root/srv/data"; } || exit 125
  setsid --wait chroot "$root" /usr/bin/env -i -C "$place" "$@" HOME="$home" LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c -- "$line"
  exit $?'
status=0
for line in "$@"; do
  echo "== $line"
  start=$SECONDS
  : >"$work/log"
  if [ -n "$verbose" ]; then
    tail -f -n +1 --pid=$$ "$work/log" &
    reader=$!
  fi
  apart bash -c "$inside" bash "$root" "$place" "$home" "$ccache" "$torch" "$data" "$line" "${environment[@]}" >>"$work/log" 2>&1
  code=$?
  seconds=$((SECONDS - start))
  if [ -n "$verbose" ]; then
    sleep 1.5  # it looks once a second
    kill "$reader"
    wait "$reader" 2>/dev/null
  else
    tail -n "$([ $code -eq 0 ] && echo 12 || echo 60)" "$work/log" | cut -c 1-300
  fi
  echo "== exit $code after $seconds s: $line"
  [ $status -ne 0 ] || status=$code
done

if [ -n "$take" ] && [ $status -eq 0 ]; then
  if ! { mkdir -p "$(dirname "$repository/$take")" && cp -rT "$root$place/$take" "$repository/$take"; } 2>"$work/log"; then
    echo "fresh_machine: $take cannot be taken: $(reason)" >&2
    status=1
  fi
fi
left=$(git -C "$root$place" status --porcelain)
if [ -n "$left" ]; then
  printf '%s\n' "$left" | head -n 10
  echo "fresh_machine: $(printf '%s\n' "$left" | wc -l) changed or untracked paths are left in the clone (above)" >&2
  [ $status -ne 0 ] || status=1
fi
exit $status
