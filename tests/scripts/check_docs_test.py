"""The check of the pages finds placeholders, broken tables and links, and nothing in whole pages."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_docs.py"
TABLE = "| a | b |\n|---|:--:|\n| 1 | `x \\| y` |\n"


def check(text, page="docs/page.md", citation=None):
    """Runs the script on a root whose one page has this text; returns its exit status and what it printed."""
    with tempfile.TemporaryDirectory() as root:
        place = pathlib.Path(root, page)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        if citation is not None:
            pathlib.Path(root, "CITATION.cff").write_text(f"version: {citation}\n", encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class CheckDocs(unittest.TestCase):
    def assert_refused(self, text, *words, **where):
        status, output = check(text, **where)
        self.assertEqual(status, 1, output)
        for word in words:
            self.assertIn(word, output)

    def assert_accepted(self, text, **where):
        status, output = check(text, **where)
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

    def test_runs_a_page_with_a_condition_where_it_holds(self):
        page = "<!-- run if: {} -->\n\n```sh run\n[ -f made ] && false\n```\n"
        self.assert_accepted(page.format("touch made && false"))
        self.assert_accepted(page.format('[ -f "$NOT_SET_ANYWHERE" ]'))
        self.assert_refused(page.format("touch made"), "block 1 ends with 1")

    def test_reads_the_pages_outside_the_manual(self):
        for page in ("SECURITY.md", "python/README.md", "python/cli/README.md", ".github/pull_request_template.md"):
            self.assert_refused("A TODO here.\n", f"{page}:1: 'TODO' stands", page=page)

    def test_finds_files_that_name_different_versions(self):
        self.assert_refused("## 0.2.0\n", "CITATION.cff has version 0.1.0, CHANGELOG.md has version 0.2.0", page="CHANGELOG.md", citation="0.1.0")
        self.assert_accepted("## 0.1.0\n", page="CHANGELOG.md", citation="0.1.0")


if __name__ == "__main__":
    unittest.main()
