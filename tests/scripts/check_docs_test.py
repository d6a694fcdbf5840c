"""The check of the pages finds placeholders and broken tables, and nothing in whole pages."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_docs.py"
TABLE = "| a | b |\n|---|:--:|\n| 1 | `x \\| y` |\n"


def check(text):
    """Runs the script on a root whose one page has this text; returns its exit status and what it printed."""
    with tempfile.TemporaryDirectory() as root:
        pathlib.Path(root, "docs").mkdir()
        pathlib.Path(root, "docs", "page.md").write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class CheckDocs(unittest.TestCase):
    def assert_refused(self, text, *words):
        status, output = check(text)
        self.assertEqual(status, 1, output)
        for word in words:
            self.assertIn(word, output)

    def assert_accepted(self, text):
        status, output = check(text)
        self.assertEqual(status, 0, output)

    def test_finds_capitals_that_repeat_and_other_placeholders(self):
        self.assert_refused("One.\n\nIt is comparable: KLKLKL\n", "docs/page.md:3:", "'KLKLKL'")
        for word in ("TODO", "Lorem ipsum", "XXXX", "AAAA", "TBD"):
            self.assert_refused(f"a {word} b\n", f"'{word}'")

    def test_lets_words_in_capitals_and_code_be(self):
        self.assert_accepted("Philip III, AAA, CIFAR and KL(p || q).\n\n```sh\necho TODO KLKLKL\n```\n")

    def test_finds_a_table_that_a_blank_line_parts(self):
        self.assert_refused(TABLE + "\n| 3 | 4 |\n", "docs/page.md:5:", "blank line")

    def test_finds_a_row_of_other_length(self):
        self.assert_refused(TABLE + "| 3 | 4 | 5 |\n", "docs/page.md:4: 3 cells", "that has 2")
        self.assert_refused(TABLE + "| 3 | 4\n", "docs/page.md:4: 1 cells")

    def test_lets_whole_tables_be(self):
        self.assert_accepted(TABLE + "\nText.\n\n" + TABLE)
        self.assert_accepted("```\n| not | a |\n\n| table |\n```\n")

    def test_finds_a_link_that_leads_nowhere_and_a_block_that_fails(self):
        self.assert_refused("[here](gone.md)\n", "gone.md leads nowhere")
        self.assert_refused("```sh run\nfalse\n```\n", "block 1 ends with 1")
        self.assert_accepted("[here](page.md)\n\n```sh run\ntrue\n```\n")


if __name__ == "__main__":
    unittest.main()
