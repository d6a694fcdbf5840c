"""scripts/bootstrap.sh --prefix and --bundle, with an apt-get that hands out two small packages: what is corrected, remembered and rejected."""

import os
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MULTIARCH = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
APT_GET = """#!/usr/bin/env bash
# Packages are the files of $PACKAGES; $APT_FAILS names the command that fails.
while [ $# -gt 0 ]; do
  case $1 in
    -o) case $2 in Dir::State=*) state=${2#*=} ;; esac; shift 2 ;;
    update | install | download) command=$1; shift; break ;;
    *) shift ;;
  esac
done
echo "$command" >>"$PACKAGES/log"
[ "$command" != "$APT_FAILS" ] || { echo "E: the $command did not work" >&2; exit 100; }
case $command in
  update) touch "$state/lists/x_Packages" ;;
  install) for file in "$PACKAGES"/*.deb; do echo "'http://x/${file##*/}' ${file##*/} $(stat -c %s "$file") SHA256:0"; done ;;
  download) cp "$PACKAGES"/*.deb . ;;
esac
"""
PC = "prefix=/usr\nlibdir=${prefix}/lib\nincludedir=/usr/include\nName: small\nVersion: 1\nDescription: small\nLibs: -L/usr/lib -lsmall\nCflags: -I${includedir}/small\n"
CMAKE = 'set(small_LIBRARY "/usr/lib/libsmall.so.1")\nget_filename_component(_realOrig "/usr/lib/cmake/small" REALPATH)\n'


def package(folder, name, files, links):
    """A package of files (name: text) and links (name: target)."""
    tree = folder / "tree"
    for path, text in {"DEBIAN/control": f"Package: {name}\nVersion: 1:2\nArchitecture: all\nMaintainer: none\nDescription: none\n", **files}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text, encoding="utf-8")
    for path, target in links.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).symlink_to(target)
    subprocess.run(["dpkg-deb", "-b", tree, folder / f"{name}_1%3a2_all.deb"], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)


@unittest.skipUnless(shutil.which("dpkg-deb"), "packages of Debian are made here")
class BootstrapTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.root, self.packages, self.stubs = (self.folder / name for name in ("root", "packages", "stubs"))
        for path in ["scripts/bootstrap.sh", "scripts/bootstrap_prefix.sh", "scripts/torch_version.sh", "cmake/Dependencies.cmake", "CMakeLists.txt"]:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.root / path)
        self.packages.mkdir()
        self.stubs.mkdir()
        for name, text in {"apt-get": APT_GET, "dpkg-query": "#!/bin/sh\nexit 1\n", "patchelf": "#!/bin/sh\n[ $1 = --version ]\n"}.items():
            (self.stubs / name).write_text(text, encoding="utf-8")
            (self.stubs / name).chmod(0o755)
        library = f"usr/lib/{MULTIARCH}"
        package(self.packages, "libsmall-dev", {f"{library}/pkgconfig/small.pc": PC, "usr/lib/cmake/small/small.cmake": CMAKE,
                "usr/include/small/small.h": "", f"usr/include/{MULTIARCH}/small/configured.h": "", f"{library}/libscript.so":
                "/* GNU ld script */\nGROUP ( /usr/lib/libsmall.so.1 AS_NEEDED ( /lib64/ld.so ) )\n", "usr/share/man/man1/small.1": ""},
                {f"{library}/libsmall.so": f"/lib/{MULTIARCH}/libsmall.so.1", f"{library}/libmachine.so": "libc.so.6", f"{library}/libgone.so": "libgone.so.1"})
        package(self.packages, "libsmall1", {f"lib/{MULTIARCH}/libsmall.so.1": "", "etc/small.conf": ""}, {})
        self.torch = self.folder / "torch"
        some_library = next(path for path in (pathlib.Path("/lib", MULTIARCH, "libm.so.6"), pathlib.Path("/lib64/libm.so.6")) if path.exists())
        version = subprocess.run([self.root / "scripts/torch_version.sh"], check=True, capture_output=True, text=True).stdout.strip()
        for path in ["ATen/ATen.h", "c10/macros/Macros.h", "torch/csrc/api/include/torch/types.h"]:
            (self.torch / "include" / path).parent.mkdir(parents=True)
            (self.torch / "include" / path).touch()
        (self.torch / "lib").mkdir()
        for name in ["libtorch_cpu.so", "libc10.so", "libgomp.so.1"]:
            shutil.copy(some_library, self.torch / "lib" / name)
        (self.torch / "version.py").write_text(f"__version__ = '{version}'\n", encoding="utf-8")

    def call(self, *words, fails="", root=None, torch=True):
        """Exit code, lines printed, lines of errors."""
        environment = {**os.environ, "PATH": f"{self.stubs}:{os.environ['PATH']}", "PACKAGES": str(self.packages), "APT_FAILS": fails,
                       "LIBTORCH": str(self.torch) if torch else "", "HOME": str(self.folder)}
        done = subprocess.run([(root or self.root) / "scripts/bootstrap.sh", *words, "--cpu"], env=environment, cwd=self.folder, capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    def rejected(self, *words, says, **more):
        before = sorted(path.name for path in self.folder.iterdir())
        code, _, errors = self.call(*words, **more)
        self.assertEqual(code, 1, errors)
        self.assertEqual(len(errors), 1, errors)
        self.assertIn(says, errors[0])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)

    def commands(self):
        log = self.packages / "log"
        return log.read_text(encoding="utf-8").split() if log.exists() else []

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=x", "-c", "user.email=x@x", *words], check=True, stdout=subprocess.DEVNULL)

    def test_words_that_cannot_be_meant_end_in_one_line_and_leave_nothing(self):
        (self.folder / "file").touch()
        (self.folder / "other").mkdir()
        (self.folder / "other/something").touch()
        self.rejected("--nonsense", says="unknown argument --nonsense")
        self.rejected("--prefix", says="--prefix takes a name, found '--cpu'")
        self.rejected("--prefix", "file", says="--prefix file is a file")
        self.rejected("--prefix", "other", says="--prefix other has files of something else")
        self.rejected("--prefix", "with space", says="letters, digits and ._+~- only")
        self.rejected("--prefix", "file/below", says="the folder cannot be made")
        self.rejected("--prefix", "a", "--bundle", "b", says="two calls")
        self.rejected("--bundle", "other", says="--bundle other is a folder")
        self.rejected("--bundle", "nowhere/x.tar", says=f"there is no folder {self.folder}/nowhere")
        self.rejected("--bundle", "x.tar", says="is no checkout")
        self.assertEqual(self.commands(), [])

    def test_the_prefix_holds_packages_that_work_from_there(self):
        code, lines, errors = self.call("--prefix", "prefix")
        self.assertEqual((code, errors), (0, []), lines)
        usr = self.folder / "prefix/usr"
        library = usr / "lib" / MULTIARCH
        self.assertEqual(os.readlink(library / "libsmall.so"), "libsmall.so.1")
        self.assertEqual(os.readlink(library / "libmachine.so"), f"/usr/lib/{MULTIARCH}/libc.so.6")
        self.assertFalse(os.path.lexists(library / "libgone.so"))
        self.assertTrue((usr / "include/small/configured.h").exists())
        self.assertFalse((usr / "share/man").exists() or (usr.parent / "etc").exists())
        self.assertIn("GROUP ( libsmall.so.1 AS_NEEDED ( ld.so ) )", (library / "libscript.so").read_text(encoding="utf-8"))
        self.assertEqual((library / "pkgconfig/small.pc").read_text(encoding="utf-8").splitlines()[:3],
                         ["prefix=${pcfiledir}/../../..", "libdir=${prefix}/lib", "includedir=${pcfiledir}/../../../include"])
        self.assertEqual((usr / "lib/cmake/small/small.cmake").read_text(encoding="utf-8").splitlines(),
                         ['set(small_LIBRARY "${CMAKE_CURRENT_LIST_DIR}/../../../lib/libsmall.so.1")',
                          'get_filename_component(_realOrig "/usr/lib/cmake/small" REALPATH)'])
        self.assertEqual(os.readlink(self.root / "build/prefix"), str(self.folder / "prefix"))

    def test_the_prefix_is_remembered_and_made_once(self):
        self.assertEqual(self.call("--prefix", "prefix")[0], 0)
        made = self.commands()
        for words in [(), ("--prefix", "prefix")]:
            code, lines, _ = self.call(*words)
            self.assertEqual(code, 0)
            self.assertEqual(len(lines), 1)
            self.assertIn("ready, with libtorch", lines[0])
        self.assertEqual(self.commands(), made)
        (self.folder / "prefix").rename(self.folder / "elsewhere")
        self.rejected(says="is gone; scripts/bootstrap.sh --prefix DIR makes another")

    def test_a_failure_leaves_the_prefix_as_it_was(self):
        for command, says in [("update", "check the network"), ("install", "no way to install"), ("download", "apt-get download failed")]:
            self.rejected("--prefix", "prefix", fails=command, says=says)
            self.assertFalse(os.path.lexists(self.root / "build/prefix"))
        self.assertEqual(self.call("--prefix", "prefix")[0], 0)
        requested = (self.folder / "prefix/requested").read_text(encoding="utf-8")
        self.rejected("--rl", fails="download", says="E: the download did not work")
        self.assertEqual((self.folder / "prefix/requested").read_text(encoding="utf-8"), requested)

    @unittest.skipUnless(shutil.which("xz") and shutil.which("git"), "a bundle takes git and xz")
    def test_a_bundle_has_source_and_packages_and_opens_without_apt(self):
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "x")
        self.rejected("--bundle", "bundle.tar", fails="download", says="apt-get download failed")
        code, lines, errors = self.call("--bundle", "bundle.tar")
        self.assertEqual((code, errors), (0, []), lines)
        asked = self.commands()
        (self.folder / "open").mkdir()
        subprocess.run(["tar", "xf", self.folder / "bundle.tar", "-C", self.folder / "open"], check=True)
        root, = (self.folder / "open").iterdir()
        self.assertIn("make build LIBTORCH=", (root / "OFFLINE.txt").read_text(encoding="utf-8"))
        machine = root / "build/packages/machine"
        found = machine.read_text(encoding="utf-8")
        for other, says in [("riscv 2.17", "are for riscv"), (f"{os.uname().machine} 99.1", "need glibc 99.1 or newer")]:
            machine.write_text(other + "\n", encoding="utf-8")
            self.rejected(root=root, says=says)
        machine.write_text(found, encoding="utf-8")
        code, lines, errors = self.call(root=root)
        self.assertEqual((code, errors), (0, []), lines)
        self.assertEqual(os.readlink(root / "build/prefix/usr/lib" / MULTIARCH / "libsmall.so"), "libsmall.so.1")
        self.assertFalse(os.path.lexists(root / "build/prefix/usr/lib" / MULTIARCH / "libmachine.so"))
        self.rejected("--rl", root=root, says="not in the bundle either: libmujoco-dev")
        self.assertEqual(self.commands(), asked)


if __name__ == "__main__":
    unittest.main()
