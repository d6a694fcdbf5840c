"""Packs the folder that DEBIAS_CLI_FOLDER names (scripts/build_program_wheel.sh makes it): bin/, lib/, share/, licenses/ and built_for, the
minor version of torch that the program is linked with."""

import os
import pathlib
import re
import shutil
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from platform_tag import platform_tag  # noqa: E402


def staged():
    folder = pathlib.Path(os.environ.get("DEBIAS_CLI_FOLDER", ""))
    if not (folder / "built_for").is_file():
        raise SystemExit("debias: DEBIAS_CLI_FOLDER names no folder of a program; run scripts/build_program_wheel.sh")
    return folder


def version():
    return re.search(r"^project\(debias VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)


class WithProgram(build_py):
    def run(self):
        super().run()
        shutil.copytree(staged(), pathlib.Path(self.build_lib) / "debias_cli", dirs_exist_ok=True)


class ForEveryPython(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        folder = pathlib.Path(self.bdist_dir)
        return "py3", "none", platform_tag([*folder.glob("**/debias_cli/bin/*"), *folder.glob("**/debias_cli/lib/*")])


class WithProgramInside(Distribution):
    def has_ext_modules(self):
        return True


minor = (staged() / "built_for").read_text().strip()
setup(version=version(), install_requires=[f"torch=={minor}.*"], distclass=WithProgramInside,
      cmdclass={"build_py": WithProgram, "bdist_wheel": ForEveryPython})
