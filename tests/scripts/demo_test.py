"""scripts/demo.sh with a program that writes run folders as debias does, and the intervals of scripts/demo_table.py."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import demo_table  # noqa: E402

# Marks of four images in each network: a correction is right where the plain loss is wrong. The seed's own share goes to the metrics.
PROGRAM = """#!{python}
import json, pathlib, sys
words = sys.argv[1:]
if words[0] == "report":
    pathlib.Path(words[words.index("--out") + 1]).write_text(" ".join(words[1:-2]))
    print("a verdict")
    sys.exit()
options = dict(word.split("=", 1) for word in words if "=" in word)
name = pathlib.Path(words[1]).stem
if name == "{failing}":
    sys.exit("debias: train: no space is left")
run = pathlib.Path(options["output"])
(run / "evaluation").mkdir(parents=True, exist_ok=True)
right = 0.25 + 0.5 * (name in ("eps_supinfonce_fairkl", "debiased_positives")) + 0.01 * int(options["seed"])
metrics = dict.fromkeys(["test.aligned_acc", "test.conflicting_acc", "test.acc1", "test.knn_acc1"], right)
(run / "metrics.jsonl").write_text(json.dumps({{"step": 1}}) + "\\n" + json.dumps(metrics) + "\\n")
(run / "times.jsonl").write_text('{{"epoch": 1, "seconds": 2}}\\n')
for protocol, side in (("groups", "C"), ("knn", "R")):
    marks = side * 3 + side.lower() if right > 0.5 else side.lower() * 3 + side
    (run / "evaluation" / (protocol + ".json")).write_text(json.dumps({{"marks": {{"test": "AAaa" * (side == "C") + marks}}}}))
"""


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_demo(self, *words, failing="", **variables):
        program = self.folder / "debias"
        program.write_text(PROGRAM.format(python=sys.executable, failing=failing), encoding="utf-8")
        program.chmod(0o755)
        environment = {**os.environ, "DEBIAS_BINARY": str(program), "DEMO_RUNS": str(self.folder / "runs"), **variables}
        return subprocess.run([SCRIPTS / "demo.sh", *words], env=environment, capture_output=True, text=True, check=False)

    def test_the_last_lines_are_a_sentence_and_the_path_of_the_report(self):
        done = self.run_demo(OMP_NUM_THREADS="1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        sentence, path = done.stdout.splitlines()[-2:]
        self.assertIn("76.0 % of cases instead of 26.0 % (+50.0 points, 95 % interval ", sentence)
        self.assertEqual(path, str(self.folder / "runs/report.html"))
        self.assertEqual(len(pathlib.Path(path).read_text(encoding="utf-8").split()), 4)

    def test_runs_of_an_earlier_demo_with_more_seeds_are_left_out(self):
        self.assertIn("intervals over 3 seeds", self.run_demo(SEEDS="3").stdout)
        done = self.run_demo()
        self.assertIn("over 4 test images", done.stdout)
        self.assertNotIn("±", done.stdout)
        self.assertNotIn("-2", (self.folder / "runs/report.html").read_text(encoding="utf-8"))

    def test_a_failing_run_ends_it_with_the_runs_own_message(self):
        done = self.run_demo(failing="eps_supinfonce_fairkl")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "demo: eps_supinfonce_fairkl, seed 1, ended with 1\ndebias: train: no space is left\n")
        self.assertNotIn("gain", done.stdout)

    def test_other_words_and_a_program_that_is_not_there_are_told_before_anything_is_trained(self):
        for words, variables, said in ((["--help"], {}, "usage: "), (["3"], {}, "usage: "), ([], {"DEBIAS_BINARY": "/no/such"}, "run make demo")):
            done = self.run_demo(*words, **variables)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(said, done.stderr)

    def test_who_stops_it_stops_its_trainings(self):
        program = self.folder / "slow"
        program.write_text(f"#!/bin/sh\necho $$ >>{self.folder}/started\nexec sleep 60\n", encoding="utf-8")
        program.chmod(0o755)
        environment = {**os.environ, "DEBIAS_BINARY": str(program), "DEMO_RUNS": str(self.folder / "runs")}
        with subprocess.Popen([SCRIPTS / "demo.sh"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as demo:
            while not (self.folder / "started").exists() or not (self.folder / "started").read_text().endswith("\n"):
                time.sleep(0.02)
            demo.terminate()
            self.assertEqual(demo.wait(20), 143)
        for process in (self.folder / "started").read_text().split():
            words = pathlib.Path("/proc", process, "cmdline")
            until = time.monotonic() + 20
            while words.exists() and "sleep" in words.read_text():
                self.assertLess(time.monotonic(), until, "a training lives on")
                time.sleep(0.02)

    def test_seeds_are_a_number_from_1_to_10(self):
        for seeds in ("abc", "0", "-1", "01", "11", "1 2"):
            done = self.run_demo("--check", SEEDS=seeds)
            self.assertEqual(done.returncode, 2, seeds)
            self.assertEqual(done.stderr, f"demo: SEEDS='{seeds}' is not a number of seeds from 1 to 10; try SEEDS=3\n")
        for seeds in ("", "1", "10"):
            self.assertEqual(self.run_demo("--check", SEEDS=seeds).returncode, 0, seeds)


class Intervals(unittest.TestCase):
    # Newcombe 1998 on paired data, table II, method 10: 36, 12, 2, 0 has [0.0569, 0.3404]. The second as tests/results has it.
    def test_a_gain_over_images_has_newcombes_interval(self):
        for counts, low, high in ([(36, 12, 2, 0), 0.0569, 0.3404], [(24, 9, 3, 14), -0.01707, None]):
            pairs = [pair for pair, count in zip(("CC", "Cc", "cC", "cc"), counts) for _ in range(count)]
            found = demo_table.paired_interval(pairs)
            self.assertAlmostEqual(found[0], low, places=4)
            if high:
                self.assertAlmostEqual(found[1], high, places=4)


if __name__ == "__main__":
    unittest.main()
