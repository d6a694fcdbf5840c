"""What a command costs, for the benchmarks that compare whole programs: seconds, processor seconds, and peak memory.

The module imports nothing heavy. A started process inherits the peak memory of the one that starts it until it replaces its program, so a
benchmark that calls measure() has to be small itself: it imports numpy and the like only in processes of their own.
"""

import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SAMPLED_EVERY = 0.25  # seconds
DEBIAS = str(pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/debias")


def say(**line):
    print(json.dumps(line), flush=True)


def resident(field):
    """In KiB: VmRSS, or VmHWM, the most since begin_peak_anew()."""
    return next(int(line.split()[1]) for line in open("/proc/self/status", encoding="utf-8") if line.startswith(field))


def begin_peak_anew():
    pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _processes_of(root):
    """Numbers of the process and of all its descendants."""
    found = [root]
    for process in found:
        for children in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
            try:
                found += map(int, children.read_text(encoding="utf-8").split())
            except OSError:
                pass  # it ended meanwhile
    return found


def _proportional_kib(process):
    """Memory of a process, in which a page that several share counts in parts."""
    try:
        for line in pathlib.Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


class _TreeSampler(threading.Thread):
    def __init__(self, root):
        super().__init__(daemon=True)
        self.root, self.peak_kib, self.ended = root, 0, threading.Event()

    def run(self):
        while not self.ended.wait(SAMPLED_EVERY):
            self.peak_kib = max(self.peak_kib, sum(map(_proportional_kib, _processes_of(self.root))))


def measure(command, environment=None, tree=False):
    """(figures, standard output) of a command that has to succeed. `peak_mib` is the peak resident memory of its largest process. With
    `tree`, `tree_mib` is the highest sampled sum over the process and its children."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=errors, env={**os.environ, **(environment or {})})
        sampler = _TreeSampler(process.pid)
        if tree:
            sampler.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if tree:
            sampler.ended.set()
            sampler.join()
        out.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}\n{errors.read().decode(errors='replace').strip()}")
        figures = {"seconds": round(seconds, 3), "processor_seconds": round(usage.ru_utime + usage.ru_stime, 3),
                   "peak_mib": round(usage.ru_maxrss / 1024, 1)}
        if tree:
            figures["tree_mib"] = round(max(sampler.peak_kib, usage.ru_maxrss) / 1024, 1)
        return figures, out.read().decode()


def in_threads(count):
    """The environment in which libraries of a peer use that many threads."""
    return {name: str(count) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def machine():
    """The processor, its cores, and the load before the benchmark began."""
    name = platform.processor()
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            name = line.partition(":")[2].strip()
            break
    return {"processor": name, "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}


def median(lines, name):
    return statistics.median(line[name] for line in lines)


def print_rows(title, heads, rows):
    print(f"\n{title}\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def run_in_folder(parser, options, run):
    """run(options) with options.work the folder that was given, or a temporary one. Ends where there is no program options.debias."""
    if shutil.which(options.debias) is None:
        parser.error(f"no program {options.debias}; build it or name it with --debias")
    if options.work:
        options.work.mkdir(parents=True, exist_ok=True)
        options.work = options.work.resolve()
        return run(options)
    with tempfile.TemporaryDirectory() as temporary:
        options.work = pathlib.Path(temporary)
        return run(options)
