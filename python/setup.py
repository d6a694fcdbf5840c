"""Builds the wheel: the modules, and in debias/lib the engine, libdebias_engine.so, with Highway's libraries beside it.

DEBIAS_LIBRARIES names a folder that holds them (scripts/build_wheel.sh makes it), or is `none`: then the wheel is the plain half alone, for any
platform, as it is everywhere but on Linux x86_64. Without it the engine is built with CMake, which needs a libtorch to link with.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
from platform_tag import platform_tag  # noqa: E402


def is_plain():
    wanted = os.environ.get("DEBIAS_LIBRARIES")
    return wanted == "none" or (not wanted and not (sys.platform == "linux" and platform.machine() == "x86_64"))


def libraries():
    folder = os.environ.get("DEBIAS_LIBRARIES")
    if not folder:
        folder = ROOT / "build" / "wheel" / "own"
        subprocess.run([ROOT / "scripts" / "build_engine.sh", folder], check=True)
    found = sorted(pathlib.Path(folder).glob("*.so*"))
    if not any(path.name == "libdebias_engine.so" for path in found):
        raise SystemExit(f"debias: no libdebias_engine.so in {folder}")
    return found


class WithLibraries(build_py):
    def run(self):
        super().run()
        folder = pathlib.Path(self.build_lib) / "debias" / "lib"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in libraries():
            shutil.copy2(file, folder)


class ForEveryPython(bdist_wheel):
    """The library has no header of Python: one wheel for all of them, but for one platform."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", platform_tag(pathlib.Path(self.bdist_dir).glob("**/debias/lib/*.so*"))


class WithoutExtensions(Distribution):
    def has_ext_modules(self):  # into the folder for platforms all the same
        return True


if is_plain():
    setup()
else:
    setup(distclass=WithoutExtensions, cmdclass={"build_py": WithLibraries, "bdist_wheel": ForEveryPython})
