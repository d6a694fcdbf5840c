"""scripts/camera_traps.py makes the same folder again, with whole bursts, in test half of them at new sites; without its packages it says
what to install."""

import collections
import csv
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "camera_traps.py"
NEEDED = [name for name in ("PIL", "numpy") if importlib.util.find_spec(name) is None]
STAMPS, SCENES = pathlib.Path("/usr/share/tuxpaint/stamps/animals/birds"), pathlib.Path("/usr/share/backgrounds/mate/nature")


def made(folder, name, *words):
    out = pathlib.Path(folder, name)
    done = subprocess.run([sys.executable, SCRIPT, out, *words], capture_output=True, text=True, check=False)
    return done, out


@unittest.skipIf(NEEDED, f"needs {NEEDED}")
class CameraTraps(unittest.TestCase):
    @unittest.skipUnless(STAMPS.is_dir() and SCENES.is_dir(), "needs tuxpaint-stamps-default and mate-backgrounds")
    def test_bursts_are_whole_and_half_of_the_test_is_at_new_sites(self):
        with tempfile.TemporaryDirectory() as folder:
            done, out = made(folder, "a", "--bursts", "6")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out / "traps.csv", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual({row["path"] for row in rows}, {path.relative_to(out).as_posix() for path in out.rglob("*.jpg")})
            sites, values = collections.defaultdict(set), collections.defaultdict(set)
            for row in rows:
                sites[row["path"].split("/")[0]].add(row["site"])
                values[row["burst"]].add((row["label"], row["site"]))
            self.assertEqual(sites["test"] - sites["train"], {"site E", "site F"})
            self.assertGreater(len(sites["test"] & sites["train"]), 1)
            self.assertEqual(len(values), 2 * 6 + 2 * 6)
            self.assertTrue(all(len(of_burst) == 1 for of_burst in values.values()))
            _, again = made(folder, "b", "--bursts", "6")
            for path in out.rglob("*.*"):
                self.assertEqual(path.read_bytes(), (again / path.relative_to(out)).read_bytes())
            refused, _ = made(folder, "a")
            self.assertIn("name a new folder", refused.stderr)

    @unittest.skipIf(STAMPS.is_dir(), "the packages are installed")
    def test_it_names_the_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            done, out = made(folder, "a")
            self.assertEqual(done.returncode, 1)
            self.assertIn("apt install tuxpaint-stamps-default mate-backgrounds", done.stderr)
            self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
