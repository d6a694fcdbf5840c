"""The check of messages finds words that are out in what is printed, and in nothing else."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "message_words.py"


def check(text, name="debias/fix/fix.cpp"):
    """Runs the script on a root whose one source has this text; returns its exit status and what it printed."""
    with tempfile.TemporaryDirectory() as root:
        place = pathlib.Path(root, name)
        place.parent.mkdir(parents=True)
        place.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", SCRIPT, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class MessageWords(unittest.TestCase):
    def assert_refused(self, words, *arguments):
        status, output = check(*arguments)
        self.assertEqual(status, 1)
        self.assertIn(words, output)

    def assert_accepted(self, *arguments):
        self.assertEqual(check(*arguments)[0], 0)

    def test_reads_literals_of_one_line_and_of_several(self):
        self.assert_refused("debias/fix/fix.cpp:2: 'judged' is out; write 'evaluate'", 'int a;\nthrow Error("a run is judged");\n')
        self.assert_refused("fix.cpp:3: 'pictures' is out", 'text = R"(one\n# "two"\n# of the pictures\n)";\n')
        self.assert_refused("fix.cpp:1: 'bias value' is out", 'f("say \\"no\\" to a bias value");\n')

    def test_ignores_comments_names_and_values_of_options(self):
        self.assert_accepted('// A "judged run" here.\n#include "debias/runs/judged_run.h"\n/* "a picture of it" */ char c = \'"\';\n')
        self.assert_accepted('f("refuse");\nf("replay.pictures");\n')

    def test_reads_docstrings_and_messages_of_the_package(self):
        self.assert_refused("metrics.py:1: 'judged' is out", '"""Rows that are judged."""\n', "python/debias/metrics.py")
        self.assert_refused("metrics.py:2: 'bias value' is out", 'x = 1\nraise ValueError(f"{x} is no bias value")\n', "python/debias/metrics.py")
        self.assert_accepted("# Rows that are judged.\nx = 'refused'\n", "python/debias/metrics.py")


if __name__ == "__main__":
    unittest.main()
