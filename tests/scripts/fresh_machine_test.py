"""scripts/fresh_machine.sh says in one line what it cannot do, before it makes anything."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/fresh_machine.sh"


def run(*words, before=(), script=SCRIPT, **more):
    return subprocess.run([*before, script, *words], cwd="/", env={**os.environ, **more}, capture_output=True, text=True, check=False)


class FreshMachine(unittest.TestCase):
    def assert_ends(self, done, status, said):
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(said, done.stderr)

    def test_a_wrong_command_line_is_said_so(self):
        for words, said in ((["."], "usage: "), ([], "usage: "), (["--fast", ".", "true"], "unknown option --fast"),
                            (["--ccache"], "--ccache needs a value"), (["--torch", "/no/such", ".", "true"], "no such folder"),
                            (["--release", "sarge", ".", "true"], "bookworm and noble"),
                            (["--take", "../x", ".", "true"], "without .."), (["--take", "/etc/passwd", ".", "true"], "without .."), (["/no/such", "true"], "there is no repository /no/such")):
            self.assert_ends(run(*words), 2, said)

    def test_the_help_names_every_option(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        options = re.findall(r"--[a-z]+(?= \||\))", SCRIPT.read_text(encoding="utf-8").split("while [", 1)[1].split("done", 1)[0])
        self.assertIn("--keep", options)
        for option in set(options) - {"--help"}:
            self.assertIn(option, done.stdout)

    def test_another_user_than_root_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            copy = shutil.copy(SCRIPT, folder)
            before = ("setpriv", "--reuid=65534", "--clear-groups") if os.geteuid() == 0 else ()
            if before and subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:
                self.skipTest("nobody cannot run anything here")
            self.assert_ends(run("/", "true", before=before, script=copy), 125, "needs root")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("apt-get"), "not root, or no apt-get")
    def test_a_folder_without_a_commit_is_no_repository(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assert_ends(run(folder, "true"), 2, "no git repository with a commit")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("apt-get"), "not root, or no apt-get")
    def test_root_without_the_right_to_mount_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run([*git, "init", "-q"], check=True)
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
            self.assert_ends(run(folder, "true", before=("setpriv", "--bounding-set=-sys_admin")), 125, "no right to mount")


if __name__ == "__main__":
    unittest.main()
