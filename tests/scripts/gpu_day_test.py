"""scripts/gpu_day.sh and the bag it packs list their steps, go on after one that fails, and report outcomes and numbers, without a GPU."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "gpu_day.sh"
BAG, BAG_STAGES = SCRIPT.parent / "gpu_bag", ["unpack", "losses", "build", "certify", "methods", "mnist"]
STEPS = ["facts", "build", "libraries", "device", "certify", "certify_moco", "certify_ranks", "certify_gpu_ranks", "tests", "accuracy",
         "bf16", "resume", "evaluation", "processes", "lost_rank", "wheel", "timings"]


def copied_script(folder, program):
    """A copy of the script in an empty checkout, so that it can build nothing, and a program that is this line of bash."""
    script, stub = pathlib.Path(folder, "scripts/gpu_day.sh"), pathlib.Path(folder, "debias")
    script.parent.mkdir()
    shutil.copy(SCRIPT, script)
    stub.write_text(f"#!/usr/bin/env bash\n{program}\n", encoding="utf-8")
    stub.chmod(0o755)
    return script, stub


def wait_until(holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s")
        time.sleep(0.05)


def run(*words, program="exit 3"):
    """The script's process, and the lines of its results."""
    with tempfile.TemporaryDirectory() as folder:
        script, stub = copied_script(folder, program)
        out = pathlib.Path(folder, "out")
        done = subprocess.run([script, "--out", "out", *words], cwd=folder, env={**os.environ, "DEBIAS": str(stub)}, capture_output=True,
                              text=True, check=False)
        results = out / "results.txt"
        return done, results.read_text(encoding="utf-8").splitlines() if results.exists() else None


class GpuDay(unittest.TestCase):
    def outcomes(self, lines):
        found = json.loads(lines[-1])
        return {step["step"]: step["outcome"] for step in found["steps"]}, found

    def test_a_dry_run_lists_the_steps_and_runs_none(self):
        done, results = run("--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()[:-1]], STEPS)
        self.assertIsNone(results)
        done, _ = run("--dry-run", "--only", "certify,timings")
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()[:-1]], ["certify", "timings"])

    def test_a_failed_step_does_not_stop_the_others(self):
        done, lines = run("--device", "cpu", "--only", "facts,certify,certify_ranks", program='echo "said by $2"; [ "$2" = ranks ]')
        self.assertEqual(done.returncode, 1, done.stderr)
        outcomes, found = self.outcomes(lines)
        self.assertEqual(outcomes, {"facts": "skipped", "certify": "failed", "certify_ranks": "passed"})
        self.assertEqual(lines[-2], "1 passed, 1 failed, 1 skipped")
        self.assertEqual([step["last_line"] for step in found["steps"]], ["skipped: needs a GPU", "said by device", "said by ranks"])
        self.assertEqual((found["device"], found["failed"]), ("cpu", 1))

    def test_a_folder_with_other_files_is_left_as_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            script, stub = copied_script(folder, "exit 0")
            for name in ("home/notes.log", "home/work/thesis"):
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("mine", encoding="utf-8")
            done = subprocess.run([script, "--out", "home", "--device", "cpu", "--only", "certify"], cwd=folder,
                                  env={**os.environ, "DEBIAS": str(stub)}, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("not empty", done.stderr)
            self.assertTrue(pathlib.Path(folder, "home/notes.log").exists() and pathlib.Path(folder, "home/work/thesis").exists())

    def test_a_training_without_ranks_fails_the_step_that_kills_one(self):
        program = 'mkdir -p "${@:$#}" 2>/dev/null; for word; do case $word in output=*) mkdir -p "${word#output=}"; ' \
                  'echo {} >"${word#output=}/metrics.jsonl" ;; esac; done; echo $$ >>"$DEBIAS.pids"; exec sleep 60'
        with tempfile.TemporaryDirectory() as folder:
            script, stub = copied_script(folder, program)
            done = subprocess.run([script, "--out", "out", "--device", "cpu", "--only", "lost_rank"], cwd=folder,
                                  env={**os.environ, "DEBIAS": str(stub)}, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("no process of its own", done.stdout)
            for pid in pathlib.Path(f"{stub}.pids").read_text(encoding="utf-8").split():
                wait_until(lambda pid=pid: not pathlib.Path("/proc", pid, "exe").exists())

    def test_numbers_are_kept(self):
        program = 'echo \'{"seconds_per_step": 0.25, "seconds_per_cached_step": 0.125}\''
        done, lines = run("--device", "cpu", "--only", "timings", program=program)
        self.assertEqual(done.returncode, 0, done.stdout)
        _, found = self.outcomes(lines)
        self.assertEqual(found["steps"][0]["measured"], {f"seconds_per{kind}_step_{precision}-32": value for precision in ("fp32", "bf16")
                                                         for kind, value in (("", 0.25), ("_cached", 0.125))})

    def test_accuracies_that_lie_apart_fail(self):
        for there, outcome in (("0.71", "passed"), ("0.61", "failed"), ("NaN", "failed")):
            program = f'[[ $* == */cpu\\ * ]] && value=0.70 || value={there}; echo "{{\\"metrics\\": {{\\"test.knn_acc1\\": $value}}}}"'
            _, lines = run("--device", "cpu", "--only", "accuracy", program=program)
            outcomes, found = self.outcomes(lines)
            self.assertEqual(outcomes, {"accuracy": outcome}, lines)
            self.assertIn("apart, at most 0.05", found["steps"][0]["last_line"])

    def test_a_stopped_script_leaves_no_step_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            script, stub = copied_script(folder, f"echo $$ >{folder}/process; exec sleep 60")
            started = subprocess.Popen([script, "--device", "cpu", "--only", "certify", "--out", "out"], cwd=folder,
                                       stdout=subprocess.DEVNULL, env={**os.environ, "DEBIAS": str(stub)}, start_new_session=True)
            process = pathlib.Path(folder, "process")
            wait_until(lambda: process.exists() and process.read_text())
            os.killpg(started.pid, signal.SIGTERM)
            started.wait(timeout=20)
            wait_until(lambda: not pathlib.Path("/proc", process.read_text().strip()).exists())

    def test_unknown_words_are_rejected(self):
        for words, said in ((["--only", "certify,tst"], "unknown step 'tst'"), (["--device", "tpu"], "give cuda or cpu"),
                            (["--fast"], "unknown argument --fast"), (["--out"], "--out needs a value")):
            done, results = run(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIsNone(results)

    def bag(self, *words, program="exit 3"):
        """run.sh in a folder of its own, with a program that is this line of bash; its results."""
        with tempfile.TemporaryDirectory() as folder:
            for file in BAG.iterdir():
                shutil.copy(file, folder)
            stub = pathlib.Path(folder, "debias")
            stub.write_text(f"#!/usr/bin/env bash\n{program}\n", encoding="utf-8")
            stub.chmod(0o755)
            done = subprocess.run([pathlib.Path(folder, "run.sh"), "--device", "cpu", *words], cwd="/", capture_output=True, text=True,
                                  env={**os.environ, "DEBIAS": str(stub)}, check=False)
            return done, [line.split()[:2] for line in done.stdout.splitlines() if line.split()[0] in BAG_STAGES]

    def test_a_failed_stage_of_the_bag_does_not_stop_the_others(self):
        done, outcomes = self.bag("--only", "losses,certify,methods,mnist", program='[ "$1" = certify ]')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(outcomes, [["losses", "failed"], ["certify", "passed"], ["methods", "failed"], ["mnist", "failed"]])
        done, outcomes = self.bag("--only", "certify", program="echo holds")
        self.assertEqual((done.returncode, outcomes), (0, [["certify", "passed"]]), done.stdout)

    def test_the_bag_lists_its_stages_and_rejects_others(self):
        done, stages = self.bag("--dry-run")
        self.assertEqual((done.returncode, [name for name, _ in stages]), (0, BAG_STAGES), done.stderr)
        seconds = sum(int(line.split()[3]) for line in done.stdout.splitlines())
        self.assertLessEqual(seconds, 610, done.stdout)
        done, _ = self.bag("--only", "certify,tst")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown stage 'tst'", done.stderr)


if __name__ == "__main__":
    unittest.main()
