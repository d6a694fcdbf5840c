# Read by scripts/bootstrap.sh: packages in a folder, where nobody is root, and a bundle of them, where there is no network.
#
# The folder, a prefix, has usr/ (what the packages hold; links, pkg-config's and CMake's files and the loader's paths are relative, so that it
# may be moved), compiler/ (g++ with the C library's headers, if the machine has none; apart, since the headers of libraries are looked through
# before the compiler's own), bin/ (the tools of both, for PATH), packages/ (as they came) and `requested`, the names that were asked for.
# build/prefix is a link to it, which cmake/Dependencies.cmake and the Makefile read. A bundle has the folder itself, called build/packages until
# the first call has looked at the machine. Functions use root, say and stop of the script that reads this, and set prefix and work.

multiarch="$(uname -m)-linux-gnu"
# What every machine with a compiler has. Unpacked beside the machine's own, a second C library would end every program that finds it.
machine_has=(libc6 libc6-dev libc-dev libgcc-s1 libstdc++6 libstdc++-dev libstdc++-{9..19}-dev procps)
prefix_tools=(make cmake ctest cpack ninja ccache pkg-config python3 doxygen clang-format-14 clang-tidy-14)
compiler_tools=(as ar ld nm ranlib strip objcopy objdump readelf addr2line)
unwanted=(./etc ./var ./boot ./usr/share/man ./usr/share/locale ./usr/share/info ./usr/share/lintian ./usr/share/bug ./usr/share/bash-completion
  ./usr/share/emacs ./usr/share/vim ./usr/share/icons ./usr/share/applications)

older() { ! printf '%s\n%s\n' "$2" "$1" | sort -CV; }  # whether version $1 is older than $2
# The line of a log of apt's that says what was wrong.
apt_reason() { { grep -m 1 '^E:' "$1" || grep -m 1 '^W:' "$1" || tail -n 1 "$1"; } | cut -c 1-200; }
in_prefix() { [ -n "$prefix" ] && [ -z "$prefix_is_stale" ] && grep -qxF -- "$1" "$prefix/requested" 2>/dev/null; }
# The folder $1 that files are written into before they get their name; it is removed however this script ends.
begin_work() {
  work=$(mktemp -d "$1/bootstrap-XXXXXX" 2>/dev/null) || stop "cannot write in the folder $1; name another"
  trap 'rm -rf "$work"' EXIT
}
end_work() { rm -rf "$work"; trap - EXIT; }

# prefix: the folder $1 that --prefix names; without it the one of last time, or of the bundle; else empty.
choose_prefix() {
  local link="$root/build/prefix"
  prefix="" prefix_is_stale=""
  if [ -n "$1" ]; then
    prefix=$(realpath -m -- "$1")
    [[ $prefix =~ ^/[A-Za-z0-9._+~/-]*[A-Za-z0-9._+~-]$ ]] ||
      stop "--prefix $1: compilers and the loader read the name $prefix, which may have letters, digits and ._+~- only; name another folder"
    [ ! -e "$prefix" ] || [ -d "$prefix" ] || stop "--prefix $1 is a file; name a new folder"
    [ ! -e "$link/bundle" ] || [ "$prefix" = "$(realpath "$link")" ] || stop "build/prefix is the one of a bundle; rm -r build/prefix, then --prefix $1"
    [ -z "$(ls -A "$prefix" 2>/dev/null)" ] || [ -f "$prefix/requested" ] || stop "--prefix $1 has files of something else; name a new folder"
  elif [ -d "$link" ]; then
    prefix=$(realpath "$link")
  elif [ -L "$link" ]; then
    stop "the folder $(readlink "$link") that --prefix made is gone; scripts/bootstrap.sh --prefix DIR makes another, rm build/prefix does without"
  elif [ -f "$root/build/packages/bundle" ]; then
    check_machine "$root/build/packages/machine"
    link_tools "$root/build/packages" needed
    mv -T "$root/build/packages" "$link"
    prefix=$link
  fi
  [ -n "$prefix" ] || return 0
  PATH="$prefix/bin:$PATH"
  # A library of the machine that the prefix leads to may have been updated.
  [ -z "$(find "$prefix/usr/lib/$multiarch" -maxdepth 1 -xtype l -print -quit 2>/dev/null)" ] || prefix_is_stale=yes
}

# Stops where a folder cannot give what was asked for.
check_prefix_can() {
  [ -z "$python" ] || python3 -c 'import ensurepip' 2>/dev/null ||
    stop "python3 ($(command -v python3 || echo none)) cannot make environments and a prefix does not change that; load or activate one with venv"
  [[ " ${libraries[*]} " != *" libjs-katex "* ]] || [ -e /usr/share/javascript/katex ] || stop "--site needs libjs-katex installed; a prefix does not do for it"
  [ ! -e "$prefix/bundle" ] || [ -n "$torch" ] || python3 -c 'import pip' 2>/dev/null ||
    stop "no torch $torch_version or ${also_versions// /, } found, which a bundle leaves out; name the folder torch of a Python environment: make build LIBTORCH=DIR"
}

# Tools that are there, but too old: a prefix may have newer ones.
outdated_tools() {
  local found
  found=$(g++ -dumpfullversion -dumpversion 2>/dev/null || true)
  [ -n "${CXX:-}" ] || [ -z "$found" ] || ! older "$found" 12 || echo g++
  found=$(cmake --version 2>/dev/null | sed -nE 's/^cmake version ([0-9.]+).*/\1/p' || true)
  [ -z "$found" ] || ! older "$found" 3.25 || echo cmake
}

# Sets up apt with lists of its own in $work/apt, as any user may. $1: the packages that count as installed, in dpkg's form.
begin_apt() {
  local provided log="$work/update.log"
  mkdir -p "$work"/apt/{lists,archives}/partial "$work/apt/none"
  cp "$1" "$work/apt/status"
  provided=$(printf ', %s (= 9999)' "${machine_has[@]}")
  { cat "$1"; printf '\nPackage: debias-machine\nStatus: install ok installed\nArchitecture: %s\nVersion: 1\nMaintainer: none\nProvides: %s\nDescription: .\n' \
    "$(dpkg --print-architecture)" "${provided#, }"; } >"$work/apt/status.libraries"
  apt=(-q -o Dir::State="$work/apt" -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt" -o Dir::Cache::Archives="$work/apt/none"
    -o APT::Sandbox::User=root)
  # One list that is not to be had, of a source that is not Debian's, need not matter.
  apt-get "${apt[@]}" update >"$log" 2>&1 || true
  compgen -G "$work/apt/lists/*Packages*" >/dev/null ||
    stop "apt-get update brought no lists of packages; check the network and /etc/apt/sources.list*: $(apt_reason "$log")"
}

# Writes the packages that $2... take and that are not installed to file $1: a line NAME_VERSION_ARCHITECTURE.deb BYTES each.
closure() {
  local list=$1 log="$work/closure.log"
  shift
  apt-get "${apt[@]}" -y --no-install-recommends --print-uris install "$@" >"$work/uris" 2>"$log" || stop "apt-get has no way to install $*: $(apt_reason "$log")"
  sed -nE "s/^'[^']*' (\S+_\S+_\S+\.deb) ([0-9]+).*/\1 \2/p" "$work/uris" | grep -vE '^(libc6|libc-bin|libstdc\+\+6|libgcc-s1)_' >"$list" || true
}

# Downloads the packages of the lists $2... into folder $1.
fetch() {
  local packages=$1 file names=() log="$work/download.log" total start=$SECONDS
  shift
  mkdir -p "$packages/partial"
  while read -r file _; do
    [ -z "$prefix" ] || [ ! -f "$prefix/packages/$file" ] || ln "$prefix/packages/$file" "$packages/$file"
    names+=("$(sed -E 's/^([^_]+)_([^_]+)_.*/\1=\2/; s/%3a/:/g' <<<"$file")")
  done < <(sort -u "$@")
  total=$(sort -u "$@" | awk '{n += $2} END {print int(n / 1e6 + 0.5)}')
  say "taking ${#names[@]} packages with apt-get download ($total MB)"
  (cd "$packages" && apt-get "${apt[@]}" -o Dir::Cache::Archives="$packages" download "${names[@]}") >"$log" 2>&1 ||
    stop "apt-get download failed: $(apt_reason "$log")"
  rm -rf "$packages/partial"
  while read -r file _; do
    [ -s "$packages/$file" ] || stop "apt-get download did not bring $file"
  done < <(sort -u "$@")
  say "downloaded in $((SECONDS - start)) s"
}

# Unpacks the packages of list $3, which lie in folder $2, into the folder $1, and corrects what names the places they are made for.
unpack() {
  local tree=$1 packages=$2 file top
  mkdir -p "$tree"/usr/{bin,sbin,lib}
  for top in bin sbin lib; do ln -s "usr/$top" "$tree/$top"; done
  while read -r file _; do
    { dpkg-deb --fsys-tarfile "$packages/$file" | tar -x -C "$tree" --keep-directory-symlink --no-same-owner "${unwanted[@]/#/--exclude=}"; } 2>"$work/log" ||
      stop "$file cannot be unpacked: $(tail -n 1 "$work/log")"
  done <"$3"
  chmod -R u+w "$tree"
  find "$tree/usr/share/doc" -type f ! -name copyright -delete 2>/dev/null || true
}

# Links in folder $1 that say where they are installed become relative ones. One whose target is no part of the folder is led to the machine's
# file, or with $2 = alone removed.
correct_links() {
  local tree=$1 link target
  while IFS=$'\t' read -r link target; do
    [ ! -e "$tree$target" ] && [ ! -L "$tree$target" ] || ln -sfnr "$tree$target" "$link"
  done < <(find "$tree" -type l -lname '/*' -printf '%p\t%l\n')
  if [ "${2:-}" != alone ]; then
    while IFS=$'\t' read -r link target; do
      [[ $target == /* ]] || target=$(realpath -ms "$(dirname "${link#"$tree"}")/$target")
      [ ! -e "$target" ] || ln -sfn "$target" "$link"
    done < <(find "$tree" -xtype l -printf '%p\t%l\n')
  fi
  find "$tree" -xtype l -delete
}

# Debian's compiler looks through include/MULTIARCH of /usr by itself; of folder $1 its headers are found in include/.
join_headers() {
  local headers="$1/usr/include" file
  [ -d "$headers/$multiarch" ] || return 0
  while IFS= read -r file; do
    [ ! -e "$headers/$file" ] || continue
    mkdir -p "$(dirname "$headers/$file")"
    ln -sr "$headers/$multiarch/$file" "$headers/$file"
  done < <(find "$headers/$multiarch" ! -type d -printf '%P\n')
}

# Files of pkg-config, of CMake and of the linker in folder $1 that name /usr.
correct_texts() {
  local tree=$1 file up
  while IFS= read -r -d '' file; do
    up=$(realpath --relative-to="$(dirname "$file")" "$tree/usr")
    sed -i -E "s#(^|[= \"])/usr(/|[ \"]|\$)#\1\${pcfiledir}/$up\2#g; s#-([IL])/usr(/|[ \"]|\$)#-\1\${pcfiledir}/$up\2#g" "$file"
  done < <(find "$tree/usr" -type f -path '*/pkgconfig/*.pc' -print0)
  while IFS= read -r -d '' file; do
    up=$(realpath --relative-to="$(dirname "$file")" "$tree/usr")
    # not where a package compares its folder with the one in /usr
    sed -i -E "/_real|PREFIX/!s#([\" ;])/usr/#\1\${CMAKE_CURRENT_LIST_DIR}/$up/#g" "$file"
  done < <(find "$tree/usr" -type f -path '*/cmake/*.cmake' ! -path '*/share/cmake-*' -print0 | xargs -0 -r grep -lZE '[" ;]/usr/' || true)
  # A file that an absolute name is taken off is looked for in the folders of libraries.
  while IFS= read -r -d '' file; do
    sed -i -E '/GROUP|INPUT/s#(^|[ (])/[^ )]*/([^ /)]+)#\1\2#g' "$file"
  done < <(find "$tree/usr/lib" -type f -name '*.so' -size -4k -print0 | xargs -0 -r grep -lZ 'GNU ld script' || true)
}

# Programs and libraries of folder $1 find the libraries beside them, wherever the folder is.
correct_loading() {
  local tree=$1 patchelf=$2 file needed name path
  while IFS= read -r -d '' file; do
    [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
    needed=$("$patchelf" --print-needed "$file" 2>/dev/null) || continue
    for name in $needed; do
      if [ -e "$tree/usr/lib/$multiarch/$name" ]; then
        path="\$ORIGIN/$(realpath --relative-to="$(dirname "$file")" "$tree/usr/lib/$multiarch")"
        needed=$("$patchelf" --print-rpath "$file")
        "$patchelf" --set-rpath "${path%/.}${needed:+:$needed}" "$file" || stop "patchelf cannot write the path of libraries into $file"
        break
      fi
    done
  done < <(find "$tree/usr" -type f \( -perm -u+x -o -name '*.so' -o -name '*.so.*' \) -print0)
}

# bin/ of the prefix $1: links to its tools, but with $2 = needed only to those that this machine lacks or has in too old a version.
link_tools() {
  local folder=$1 tool outdated=""
  [ "${2:-}" != needed ] || outdated=$(outdated_tools)
  rm -rf "$folder/bin"
  mkdir "$folder/bin"
  for tool in "${prefix_tools[@]}"; do
    [ -e "$folder/usr/bin/$tool" ] || continue
    [ "${2:-}" != needed ] || ! command -v "$tool" >/dev/null || [[ $tool =~ ^(cmake|ctest|cpack)$ && " $outdated " == *cmake* ]] || continue
    ln -s "../usr/bin/$tool" "$folder/bin/$tool"
  done
  [ -e "$folder/compiler/usr/bin/g++" ] || return 0
  for tool in "${compiler_tools[@]}"; do ln -s "../compiler/usr/bin/$tool" "$folder/bin/$tool"; done
  for tool in g++ gcc; do
    cat >"$folder/bin/$tool" <<END
#!/bin/sh
# $tool of the packages here, with the C library's headers beside it; programs find its libraries, such as OpenMP's, after all others.
c=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")/compiler/usr
case " \$* " in *" -o "*) set -- "\$@" -Wl,-rpath,"\$c/lib/$multiarch" ;; esac
exec "\$c/bin/$tool" -B"\$c/bin" -idirafter "\$c/include/$multiarch" -idirafter "\$c/include" "\$@"
END
    chmod +x "$folder/bin/$tool"
  done
  ln -s g++ "$folder/bin/c++"
  ln -s gcc "$folder/bin/cc"
}

# Makes usr/, compiler/ and packages/ in folder $1 with the packages $3... and what they take. $2: alone if links may not lead to this machine's files.
make_folder() {
  local folder=$1 alone=$2 patchelf libraries=() name
  shift 2
  mkdir -p "$folder"
  : >"$work/compiler.list"
  for name in "$@"; do [ "$name" = g++ ] || libraries+=("$name"); done
  if [ $# != ${#libraries[@]} ]; then closure "$work/compiler.list" g++; fi
  apt+=(-o Dir::State::status="$work/apt/status.libraries")
  closure "$work/usr.list" "${libraries[@]}" patchelf
  fetch "$folder/packages" "$work/compiler.list" "$work/usr.list"
  say "unpacking and correcting them"
  unpack "$folder" "$folder/packages" "$work/usr.list"
  correct_links "$folder" "$alone"
  join_headers "$folder"
  correct_texts "$folder"
  patchelf=$(command -v patchelf || echo "$folder/usr/bin/patchelf")
  "$patchelf" --version >/dev/null 2>&1 || stop "$patchelf does not run, with which the loader's paths are corrected"
  correct_loading "$folder" "$patchelf"
  if [ -s "$work/compiler.list" ]; then
    unpack "$folder/compiler" "$folder/packages" "$work/compiler.list"
    correct_links "$folder/compiler"
    correct_texts "$folder/compiler"
    correct_loading "$folder/compiler" "$patchelf"
  fi
  rm -f "$folder"/{bin,sbin,lib} "$folder"/compiler/{bin,sbin,lib}
}

need_apt() {  # $1: the option, the rest: what it is to bring
  local option=$1 tool
  shift
  for tool in apt-get dpkg dpkg-deb tar; do
    command -v $tool >/dev/null || stop "$option takes packages of Debian 12 or Ubuntu 24.04, and there is no $tool here; missing: $*"
  done
}

# Makes the prefix anew with what it has and the packages $@; it changes in one step, at the end.
fill_prefix() {
  local requested start=$SECONDS
  [ ! -e "$prefix/bundle" ] || stop "not here, and not in the bundle either: $*; load or install them (g++ 12 or newer, make, python3), then run this again"
  need_apt --prefix "$@"
  mapfile -t requested < <({ cat "$prefix/requested" 2>/dev/null || true; printf '%s\n' "$@"; } | sort -u)
  mkdir -p "$(dirname "$prefix")" 2>/dev/null || stop "--prefix $prefix: the folder cannot be made; name another"
  begin_work "$(dirname "$prefix")"
  say "missing here: $*"
  begin_apt /var/lib/dpkg/status
  make_folder "$work/new" "" "${requested[@]}"
  link_tools "$work/new"
  printf '%s\n' "${requested[@]}" >"$work/new/requested"
  [ ! -e "$prefix" ] || mv -T "$prefix" "$work/old" || stop "--prefix $prefix: the folder cannot be replaced; name a new one"
  mv -T "$work/new" "$prefix" || { [ ! -e "$work/old" ] || mv -T "$work/old" "$prefix"; stop "--prefix $prefix: the folder cannot be made; name another"; }
  end_work
  remember_prefix
  hash -r
  say "packages in $prefix: $(du -sh "$prefix" | cut -f 1), $((SECONDS - start)) s; commands besides make take: export PATH=$prefix/bin:\$PATH"
  [ ! -e "$prefix/usr/share/glvnd/egl_vendor.d" ] ||
    say "drawing takes: export __EGL_VENDOR_LIBRARY_DIRS=$prefix/usr/share/glvnd/egl_vendor.d LIBGL_DRIVERS_PATH=$prefix/usr/lib/$multiarch/dri"
}

remember_prefix() {
  [ -e "$prefix" ] || { say "nothing is missing here, $prefix is not made"; return; }
  [ "$(realpath -m "$root/build/prefix")" = "$prefix" ] || ln -sfnT "$prefix" "$root/build/prefix"
}

# What the file $1 of the bundle says of machines: ARCHITECTURE GLIBC.
check_machine() {
  local architecture needed found
  read -r architecture needed <"$1"
  [ "$architecture" = "$(uname -m)" ] || stop "the packages of this bundle are for $architecture, this machine is $(uname -m); make a bundle on such a machine, or rm -r build/packages"
  found=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/^glibc //' || true)
  [ -n "$found" ] && ! older "$found" "$needed" ||
    stop "the packages of this bundle need glibc $needed or newer, this machine has ${found:-another C library}; make a bundle on a system as old, or rm -r build/packages"
}

# Writes the file $1, a compressed archive: the source of HEAD, and in its folder build/ the packages $2... with all that they take.
write_bundle() {
  local file=$1 folder name version glibc tree xz start=$SECONDS
  shift
  [ ! -d "$file" ] || stop "--bundle $file is a folder; name a file, such as $file/debias.tar"
  folder=$(realpath -m -- "$(dirname "$file")")
  [ -d "$folder" ] || stop "--bundle $file: there is no folder $folder; make it first"
  need_apt --bundle "$@"
  git -C "$root" rev-parse -q --verify HEAD >/dev/null 2>&1 || stop "--bundle takes the source from git, and $root is no checkout; clone the repository"
  [ -z "$(git -C "$root" status --porcelain -uno)" ] || say "changes that are not committed are left out"
  version=$(sed -nE 's/^project\(debias VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt")
  name=debias-$version
  begin_work "$folder"
  tree="$work/$name/build/packages"
  mkdir -p "$work/$name/build"
  git -C "$root" archive HEAD | tar -x -C "$work/$name"
  : >"$work/nothing"
  begin_apt "$work/nothing"
  make_folder "$tree" alone "$@" xz-utils
  xz=$(command -v xz || echo "$tree/usr/bin/xz")
  rm -rf "$tree"/{packages,usr/src,usr/share/zsh}
  find "$tree/usr/lib" -name '*.a' | while read -r library; do [ ! -e "${library%.a}.so" ] || rm "$library"; done  # the shared one is linked
  printf '%s\n' "$@" >"$tree/requested"
  sed 's/ .*//' "$work/usr.list" >"$tree/bundle"
  # Names of symbols say which C library is needed.
  glibc=$(find "$tree/usr/bin" "$tree/usr/lib" -type f -print0 | { xargs -0 grep -haoE 'GLIBC_2\.[0-9]+' || true; } | sort -uV | tail -n 1)
  glibc=${glibc#GLIBC_}
  echo "$(uname -m) ${glibc:=2.17}" >"$tree/machine"
  cat >"$work/$name/OFFLINE.txt" <<END
debias $version, commit $(git -C "$root" rev-parse HEAD), with the packages that it is built with, for machines without root and without a network:

  $(uname -m), glibc $glibc or newer, with make, g++ 12 or newer, python3, and a Python environment with torch $torch_version or ${also_versions// /, }

  make build LIBTORCH=\$(python3 -c 'import torch, os; print(os.path.dirname(torch.__file__))')
  build/release/bin/debias --version

Nothing is written outside this folder. The packages are unpacked in build/packages, which the first call renames to build/prefix: the file bundle
lists them, and usr/share/doc has their licences. docs/install.md says more.
END
  say "compressing $(du -sh "$work/$name" | cut -f 1)"
  tar -C "$work" --owner=0 --group=0 --numeric-owner --sort=name -c "$name" | "$xz" -T0 >"$work/bundle"
  mv -fT "$work/bundle" "$file"
  end_work
  say "$file: $((($(stat -c %s "$file") + 500000) / 1000000)) MB, $((SECONDS - start)) s; where there is no network: tar xf $(basename "$file") && cd $name && make build LIBTORCH=DIR (OFFLINE.txt)"
}
