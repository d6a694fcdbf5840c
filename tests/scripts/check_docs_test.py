"""The check of the pages finds placeholders, broken tables and words that are out, and nothing in whole pages."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_docs.py"
TABLE = "| a | b |\n|---|:--:|\n| 1 | `x \\| y` |\n"


def check(text, page="docs/page.md", unconverted=None, citation=None):
    """Runs the script on a root whose one page has this text; returns its exit status and what it printed."""
    with tempfile.TemporaryDirectory() as root:
        place = pathlib.Path(root, page)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        if unconverted is not None:
            pathlib.Path(root, "scripts").mkdir()
            pathlib.Path(root, "scripts", "unconverted_pages.txt").write_text(unconverted, encoding="utf-8")
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

    def test_finds_terms_that_are_out_in_prose_alone(self):
        self.assert_refused("One.\n\nA run is judged by kNN.\n", "docs/page.md:3: 'judged' is out; write 'evaluate'")
        self.assert_refused("| a | b |\n|---|---|\n| c | the bias value |\n", "docs/page.md:3: 'bias value' is out")
        self.assert_accepted("`judged` and [a link](https://example.org/judged)\n\n```\njudged\n```\n\n<!-- judged\njudged -->\n")
        self.assert_refused("A colour that goes with the class.\n", "'goes with the class' is out; write 'correlates")
        self.assert_refused("Images set aside. A loss was told.\n", "'set aside' is out; write 'hold out'", "'told' is out")
        self.assert_accepted("A comma goes with a space. It asserts a side, and is worthy.\n")
        self.assert_accepted("The bias value.\n", page="docs/reference/cli.md")
        self.assert_accepted("The prejudgedness of words, and a refuser.\n")

    def test_reads_the_pages_outside_the_manual(self):
        for page in ("SECURITY.md", "python/README.md", "python/cli/README.md", "fuzz/README.md", ".github/pull_request_template.md"):
            self.assert_refused("A run is judged.\n", f"{page}:1: 'judged' is out", page=page)

    def test_finds_a_sentence_of_more_than_35_words(self):
        self.assert_refused("One.\n\n" + "Word " * 20 + "\n" + "word " * 16 + "end.\n", "docs/page.md:3: a sentence of 37 words")
        self.assert_accepted("Word " * 30 + "end. " + "Word " * 30 + "end.\n")
        self.assert_accepted("- " + "word " * 30 + "\n- " + "word " * 30 + "\n")
        self.assert_accepted("word " * 40 + "end.\n", page="docs/results/study.md")
        self.assert_accepted("A loss $" + "a + " * 40 + "b$ is small.\n")

    def test_finds_dates_and_processors_but_in_pages_of_results(self):
        for diary in ("Measured on 2026-01-31.\n", "Measured on an EPYC.\n"):
            self.assert_refused(diary, "belongs to a page of results")
            self.assert_accepted(diary, page="docs/results/study.md")

    def test_finds_files_that_name_different_versions(self):
        self.assert_refused("## 0.2.0\n", "CITATION.cff has version 0.1.0, CHANGELOG.md has version 0.2.0", page="CHANGELOG.md", citation="0.1.0")
        self.assert_accepted("## 0.1.0\n", page="CHANGELOG.md", citation="0.1.0")

    def test_leaves_pages_alone_that_are_to_be_converted_until_they_are(self):
        self.assert_accepted("A run is judged.\n", unconverted="docs/page.md\n")
        self.assert_refused("A run is evaluated.\n", "--update takes it off", unconverted="docs/page.md\n")
        self.assert_refused("A run is evaluated.\n", "docs/gone.md: there is no such page", unconverted="docs/gone.md\n")


if __name__ == "__main__":
    unittest.main()
