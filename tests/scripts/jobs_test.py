"""A build takes every processor, whatever bounds the threads of programs."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOUNDS = {"OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}


def environment(**more):
    """Without what the make that runs the tests hands down."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "JOBS", "OMP_"))} | more


def printed(*command, **more):
    return subprocess.run(command, cwd=ROOT, env=environment(**more), capture_output=True, text=True, check=True).stdout


def expected_jobs():
    memory = int(re.search(r"MemTotal: *(\d+)", pathlib.Path("/proc/meminfo").read_text(encoding="utf-8")).group(1))
    return max(1, min(len(os.sched_getaffinity(0)), memory // 3000000))


class Jobs(unittest.TestCase):
    def test_the_number_is_that_of_processors_and_memory(self):
        self.assertEqual(int(printed("scripts/jobs.sh")), expected_jobs())

    def test_bounds_of_openmp_leave_it_as_it_is(self):
        self.assertEqual(int(printed("scripts/jobs.sh", **BOUNDS)), expected_jobs())

    def test_one_processor_is_one_job(self):
        self.assertEqual(printed("taskset", "-c", str(min(os.sched_getaffinity(0))), "scripts/jobs.sh"), "1\n")

    def test_make_takes_it_unless_told_otherwise(self):
        for target in ("build", "demo"):
            self.assertIn(f"--preset release -j {expected_jobs()}", printed("make", "-n", target, **BOUNDS))
            self.assertIn("--preset release -j 3", printed("make", "-n", target, "JOBS=3"))

    def test_no_script_takes_the_number_from_nproc(self):
        for script in (ROOT / "Makefile", ROOT / "fuzz/run.sh", *(ROOT / "scripts").glob("*.sh")):
            for line in script.read_text(encoding="utf-8").splitlines():
                if re.search(r"JOBS\b|jobs=|-j |clang-tidy", line):
                    self.assertNotIn("nproc", line, script.name)


if __name__ == "__main__":
    unittest.main()
