"""Parts of the generated reference: tables, signatures, the sections of commands that a program lacks, every public name of the package."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import program_listing  # noqa: E402
import python_reference  # noqa: E402
import reference  # noqa: E402


class Reference(unittest.TestCase):
    def test_cells_hold_no_bar_and_no_line_end(self):
        self.assertEqual(reference.cell("a|b\nc <x>"), "a\\|b c &lt;x>")
        self.assertEqual(reference.table(["a", "b"], [["1", "2"]]), "| a | b |\n|---|---|\n| 1 | 2 |\n\n")

    def test_a_program_without_agents_keeps_their_sections(self):
        old = "# C\n\n## debias a\n\nold\n\n## debias rl\n\nr\n\n## debias rl train\n\nt\n\n## debias z\n\nz\n"
        new = "# C\n\n## debias a\n\nnew\n\n## debias rl\n\nnot in this build\n\n## debias z\n\nz\n"
        self.assertEqual(reference.with_agents_of(old, new), old.replace("old", "new"))

    def test_usage_names_what_is_required(self):
        words = [{"name": "NAME", "positional": True, "required": True, "repeated": False},
                 {"name": "overrides", "positional": True, "required": False, "repeated": True},
                 {"name": "--out", "positional": False, "required": True, "repeated": False, "value": "DIR"},
                 {"name": "--json", "positional": False, "required": False, "repeated": False}]
        self.assertEqual(program_listing.usage({"name": "data make", "has_parts": False, "arguments": words}),
                         "debias data make NAME [overrides...] --out DIR [options]")

    def test_exit_codes_of_the_help_have_rows(self):
        self.assertEqual(reference.undocumented_codes([{"footer": "Exit codes: 0 success, 2 usage\n130 or 143 stopped\nExample: x"}]), [])
        self.assertEqual(reference.undocumented_codes([{"footer": "Exit codes: 0 success, 99 unheard of\nExample: x"}]), ["99"])

    def test_long_signatures_break_after_commas_outside_of_brackets(self):
        text = "f(" + "a: Dict[str, int]=None, " * 6 + "b=1) -> Tuple[int, int]"
        lines = python_reference.wrapped(text).splitlines()
        self.assertEqual(lines[0], "f(")
        self.assertEqual(len(lines), 4)
        self.assertTrue(all(line.rstrip().endswith(("=None,", "Tuple[int, int]")) for line in lines[1:]), lines)
        self.assertEqual(re.sub(r"\s+", " ", python_reference.wrapped(text)).replace("( ", "("), text)

    def test_the_python_page_has_every_public_name(self):
        page = python_reference.python_page("")
        headings = re.findall(r"^## debias\.(\w+)$", page, re.MULTILINE)
        self.assertEqual(len(headings), len(set(headings)))
        stub = (ROOT / "python/debias/__init__.pyi").read_text(encoding="utf-8")
        losses = re.findall(r"^class (\w+Loss)\(", stub, re.MULTILINE)
        source = (ROOT / "python/debias/__init__.py").read_text(encoding="utf-8")
        names = re.findall(r'"(\w+)"', source[source.index("__all__"):])
        self.assertEqual(set(headings), {*losses, *names})
        self.assertIn("- `source`: a folder of class folders, a FeatureTable", page)
        self.assertNotIn("``", re.sub(r"```", "", page))


if __name__ == "__main__":
    unittest.main()
