"""Builds libdebias_torch.so with CMake against the installed torch and puts it into the package.

torch is found as the package of this interpreter (hence pip's --no-build-isolation) or in the folder that LIBTORCH names.
DEBIAS_LIBRARY names a libdebias_torch.so that is there already; then nothing is compiled.
"""

import importlib.util
import os
import pathlib
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIBRARY = "libdebias_torch.so"


def torch_folder():
    if os.environ.get("LIBTORCH"):
        return os.environ["LIBTORCH"]
    found = importlib.util.find_spec("torch")
    if found is None:
        raise SystemExit("debias: no torch beside this interpreter; pip install torch==2.11.0 and give pip --no-build-isolation, or set LIBTORCH")
    return found.submodule_search_locations[0]


def built_library():
    if os.environ.get("DEBIAS_LIBRARY"):
        return pathlib.Path(os.environ["DEBIAS_LIBRARY"])
    folder = ROOT / "build" / "python"
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DDEBIAS_TESTS=OFF",
                    "-DDEBIAS_BENCHMARKS=OFF", f"-DLIBTORCH={torch_folder()}"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "debias_torch", "-j", str(os.cpu_count())], check=True)
    return folder / "python" / LIBRARY


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        shutil.copy2(built_library(), pathlib.Path(self.build_lib) / "debias" / LIBRARY)


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": BuildWithLibrary}, distclass=WithLibrary)
