"""Manual pages and completions, written for a small program that lists its commands as debias does; bash completes with the result."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def argument(name, text, **more):
    fixed = {"name": name, "also": [], "positional": not name.startswith("-"), "required": False, "repeated": False, "seldom_used": False}
    return {**fixed, "help": text, **more}


def command(name, summary, *arguments, parts=False):
    quiet = [] if parts else [argument("--quiet", "no progress: it's [quiet]", also=["-q"])]
    return {"name": name, "summary": summary, "footer": f"Example: debias {name}", "has_parts": parts, "arguments": [*arguments, *quiet]}


COMMANDS = [
    command("", "debias: a program", argument("--version", "the version"), parts=True),
    command("train", "trains", argument("recipe", "a recipe", required=True), argument("--seeds", "number of seeds", value="N")),
    command("eval", "evaluates", argument("protocols", "knn,...", required=True),
            argument("--checkpoint", "the state", value="NAME", choices=["last", "best"]), argument("--device", "where", value="TEXT")),
    command("data", "data sets", parts=True),
    command("data make", "makes a set", argument("--data", "data set", value="NAME"), argument("--out", "folder", value="DIR", required=True)),
    command("eval sentences", "evaluates sentences", argument("--tasks", "which", value="TASKS")),
    command("loss", "a loss", argument("--objective", "its name", value="NAME"), argument("--variant", "defaults", value="paper|authors"))]
NAMES = {"recipes": ["demo/first", "demo/second"], "protocols": ["knn"], "objectives": ["infonce"], "datasets": ["glyphs"]}
LISTS = {"commands": COMMANDS, **{kind: [{"name": name} for name in names] for kind, names in NAMES.items()}}
PROGRAM = f"#!{sys.executable}\nimport json, sys\nlists = json.loads({json.dumps(json.dumps(LISTS))})\n" \
          "print('debias 1.2.3' if sys.argv[1] == '--version' else json.dumps({sys.argv[2]: lists[sys.argv[2]]}))\n"
COMPLETE = 'source "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _debias; printf "%s\\n" "${COMPREPLY[@]}"'


class ShareFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, program=PROGRAM):
        path = self.folder / "debias"
        path.write_text(program, encoding="utf-8")
        path.chmod(0o755)
        return subprocess.run([sys.executable, "-B", SCRIPTS / "share_files.py", self.folder / "share", path], capture_output=True, text=True,
                              check=False)

    def completed(self, *words):
        script = self.folder / "share/bash-completion/completions/debias"
        done = subprocess.run(["bash", "-c", COMPLETE, "bash", script, *words], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.split()

    def test_bash_completes_commands_options_and_values(self):
        self.assertEqual(self.write().returncode, 0)
        for words, expected in [
            (["debias", ""], ["train", "eval", "data", "loss"]),
            (["debias", "da"], ["data"]),
            (["debias", "data", ""], ["make"]),
            (["debias", "data", "make", "--o"], ["--out"]),
            (["debias", "train", "--"], ["--seeds", "--quiet"]),
            (["debias", "train", "demo/s"], ["demo/second"]),
            (["debias", "train", "--seeds", "3", "demo/s"], ["demo/second"]),
            (["debias", "eval", "knn", "run", "--checkpoint", ""], ["last", "best"]),
            (["debias", "eval", "--device", "cu"], ["cuda"]),
            (["debias", "loss", "--variant", ""], ["paper", "authors"]),
            (["debias", "eval", ""], ["sentences", "knn"]),
            (["debias", "eval", "sentences", "--t"], ["--tasks"]),
            (["debias", "eval", "knn", "sha"], ["share"]),
            (["debias", "train", "demo/first", "sha"], ["share"]),  # a file
        ]:
            self.assertEqual(self.completed(*words), expected, words)

    def test_each_command_has_a_manual_page(self):
        self.assertEqual(self.write().returncode, 0)
        pages = {page.name: page.read_text(encoding="utf-8") for page in (self.folder / "share/man/man1").iterdir()}
        self.assertEqual(set(pages), {"debias.1", "debias-train.1", "debias-eval.1", "debias-eval-sentences.1", "debias-data.1",
                                      "debias-data-make.1", "debias-loss.1"})
        self.assertNotIn("demo/first", pages["debias-train.1"])
        self.assertIn("debias \\- a program", pages["debias.1"])
        self.assertIn('"debias 1.2.3"', pages["debias.1"])
        self.assertIn("\\fBdebias data make\\fR \\-\\-out DIR [options]", pages["debias-data-make.1"])
        self.assertIn("\\fB\\-q, \\-\\-quiet\\fR\nno progress: it's [quiet]", pages["debias-data-make.1"])

    def test_zsh_and_fish_name_every_option(self):
        self.assertEqual(self.write().returncode, 0)
        zsh = (self.folder / "share/zsh/site-functions/_debias").read_text(encoding="utf-8")
        fish = (self.folder / "share/fish/vendor_completions.d/debias.fish").read_text(encoding="utf-8")
        self.assertTrue(zsh.startswith("#compdef debias\n"))
        self.assertIn("'*--quiet[no progress\\: it'\\''s \\[quiet\\]]'", zsh)
        self.assertIn("""-n '__debias_at "data make"' -l out -r -d 'folder'""", fish)
        self.assertIn("-l checkpoint -x -a 'last best'", fish)
        self.assertIn("':protocols:(knn sentences)'", zsh)

    def test_a_table_entry_without_an_argument_and_a_failing_program_stop_it(self):
        done = self.write(PROGRAM.replace("--objective", "--loss"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no command has the argument --objective", done.stderr)
        done = self.write("#!/bin/sh\necho no such list >&2\nexit 2\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("debias list commands failed: no such list", done.stderr)


if __name__ == "__main__":
    unittest.main()
