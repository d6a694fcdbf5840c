"""The platform tag of a wheel with compiled files: what it needs of the machine that installs it."""

import os
import re
import subprocess

# The oldest glibc of a manylinux whose libstdc++ has these symbols (PEP 600, auditwheel's policies).
GLIBC_OF_LIBSTDCXX = {19: 17, 24: 28, 28: 31, 29: 34, 30: 35, 33: 39}


def platform_tag(files):
    """manylinux_2_Y of the oldest glibc on which all of them load."""
    minor = 17
    for file in files:
        symbols = subprocess.run(["objdump", "-T", file], check=True, capture_output=True, text=True).stdout
        minor = max([minor, *(int(number) for number in re.findall(r"\(GLIBC_2\.(\d+)", symbols))])
        newest = max([0, *(int(number) for number in re.findall(r"\(GLIBCXX_3\.4\.(\d+)", symbols))])
        if newest > max(GLIBC_OF_LIBSTDCXX):
            raise SystemExit(f"debias: {file} needs GLIBCXX_3.4.{newest}, newer than any manylinux known here")
        minor = max(minor, next(glibc for symbol, glibc in GLIBC_OF_LIBSTDCXX.items() if symbol >= newest))
    return f"manylinux_2_{minor}_{os.uname().machine}"
