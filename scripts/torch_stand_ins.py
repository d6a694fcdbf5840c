#!/usr/bin/env python3
"""scripts/torch_stand_ins.py TORCH OUT: libraries that let a torch for GPUs be imported where NVIDIA's are not installed.

TORCH is an installed package (site-packages/torch). OUT gets one library for each that torch needs and this machine lacks, with the names and
symbol versions that torch asks for; every function returns 100, which is CUDA's "no device". They take 1 MB in the place of 3 GB:

    python3 -m pip install --no-deps torch==2.15.0
    scripts/torch_stand_ins.py venv/lib/python3.11/site-packages/torch stand-ins
    LD_LIBRARY_PATH=stand-ins venv/bin/python -c "import torch"
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

NO_DEVICE = 100
OF_NVIDIA = re.compile(r"(cu|nvrtc|nccl|nvtx|__cuda|nvJit|__nv|nvshmem)\w*$")


def output_of(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def of_this_machine():
    return set(re.findall(r"^\s+(\S+) \(", output_of("ldconfig", "-p"), re.MULTILINE))


def symbols(library, which):
    """(name, version or "") of the dynamic symbols of a library."""
    for line in output_of("nm", "-D", which, str(library)).splitlines():
        name, _, version = line.split()[-1].partition("@")
        yield name, version.lstrip("@")


def versions_wanted(library):
    """(file, version) that a library asks for."""
    file = None
    for line in output_of("readelf", "-V", "-W", str(library)).splitlines():
        if found := re.search(r"File: (\S+)", line):
            file = found[1]
        elif file and (found := re.search(r"Name: (\S+) ", line)):
            yield file, found[1]


def build(name, functions, versions, out):
    """One library; functions without a version stand outside of the map."""
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "functions.c"), pathlib.Path(folder, "versions.map")
        every = sorted({*functions, *(name for names in versions.values() for name in names)})
        source.write_text("".join(f"long {function}(void) {{ return {NO_DEVICE}; }}\n" for function in every), encoding="utf-8")
        script.write_text("".join(f"{version} {{ global: {' '.join(f'{function};' for function in sorted(names))} }};\n"
                                  for version, names in sorted(versions.items())), encoding="utf-8")
        words = ["cc", "-w", "-shared", "-fPIC", "-fno-builtin", f"-Wl,-soname,{name}", "-o", str(out / name), str(source)]
        subprocess.run(words + ([f"-Wl,--version-script,{script}"] if versions else []), check=True)


def main(torch, out):
    libraries = sorted((torch / "lib").glob("*.so*"))
    if not libraries:
        sys.exit(f"torch_stand_ins: {torch} has no lib/*.so; give the folder of an installed torch")
    here = {library.name for library in libraries} | of_this_machine()
    missing = []
    wanted, defined, plain = collections.defaultdict(set), set(), set()
    versions = collections.defaultdict(lambda: collections.defaultdict(set))
    for library in libraries:
        for name in re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-d", str(library))):
            if name not in here and name not in missing:
                missing.append(name)
        for name, version in symbols(library, "--undefined-only"):
            (wanted[version] if version else plain).add(name)
        defined |= {name for name, _ in symbols(library, "--defined-only")}
    for library in libraries:
        for file, version in versions_wanted(library):
            if file in missing and wanted[version]:
                versions[file][version] = wanted[version]
    if not missing:
        sys.exit("torch_stand_ins: this torch needs no library that is not here")
    out.mkdir(parents=True, exist_ok=True)
    versioned = {name for of_file in versions.values() for names in of_file.values() for name in names}
    of_nobody = {name for name in plain - defined - versioned if OF_NVIDIA.match(name)}
    for name in missing:  # nothing says whose a symbol without a version is, so each has all of them
        build(name, of_nobody, versions[name], out)
    print(f"torch_stand_ins: {len(missing)} libraries in {out}: {' '.join(missing)}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
