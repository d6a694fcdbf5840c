"""The check of the results' tables accepts what the single runs give, and names a cell that they do not."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_results.py"


class CheckResults(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)
        shutil.copytree(ROOT / "docs/results", pathlib.Path(self.root.name, "docs/results"))

    def change(self, page, old, new):
        path = pathlib.Path(self.root.name, "docs/results", page)
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def check(self):
        done = subprocess.run([sys.executable, "-B", SCRIPT, self.root.name], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_the_pages_agree_with_the_single_runs(self):
        status, output = self.check()
        self.assertEqual(status, 0, output)

    def test_a_mean_an_interval_and_a_difference_that_differ_are_named(self):
        self.change("biased-mnist.md", "62.5 ± 1.9", "63.5 ± 1.9")
        self.change("corrupted-cifar10.md", "21.2 ± 0.8", "21.2 ± 0.9")
        self.change("sentences.md", "+1.10 ± 0.54", "-1.10 ± 0.54")
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertEqual(len(output.splitlines()), 3, output)
        self.assertIn("biased-mnist.md: `ce`, all: printed 63.5 ± 1.9, the runs give 62.492", output)

    def test_a_missing_table_is_named(self):
        self.change("cifar10.md", "| method |", "| loss |")
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertIn("cifar10.md: no table 1 that begins with '| method |'", output)


if __name__ == "__main__":
    unittest.main()
