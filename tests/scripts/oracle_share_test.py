"""The share of the oracle's gain: its interval against hand values and by coverage, and what the script refuses."""

import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "oracle_share.py"
sys.path.insert(0, str(SCRIPT.parent))

import student  # noqa: E402


def lines(values):
    """{"variant/grid": [a value a seed]} as scripts/keep_results.py prints runs."""
    return "".join(
        json.dumps({"run": f"{name}/seed-{seed}", "test.knn_acc1": value}) + "\n"
        for name, of_seeds in values.items() for seed, value in enumerate(of_seeds, 1))


def run(command, text, *words):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "runs.jsonl")
        file.write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, "-B", SCRIPT, command, file, *words], capture_output=True, text=True, check=False)


class Student(unittest.TestCase):
    def test_quantiles_are_those_of_the_tables(self):
        for degrees, quantile in ((1, 12.7062), (2, 4.30265), (4, 2.77645), (9, 2.26216), (30, 2.04227), (1000, 1.96234)):
            self.assertAlmostEqual(student.t_quantile(degrees), quantile, places=4 if degrees > 1 else 3)

    def test_p_values_are_closed_forms_where_there_are_some(self):
        for t in (0.1, 0.7, 2.0, 9.0, 200.0):
            self.assertAlmostEqual(student.two_sided_p(t, 1), 1 - 2 / math.pi * math.atan(t), places=12)
            self.assertAlmostEqual(student.two_sided_p(t, 2), 1 - t / math.sqrt(2 + t * t), places=12)
        self.assertEqual(student.two_sided_p(0, 4), 1)

    def test_holm_is_the_worked_example(self):
        for found, expected in zip(student.holm([0.01, 0.04, 0.03, 0.005]), (0.03, 0.06, 0.06, 0.02)):
            self.assertAlmostEqual(found, expected, places=12)


class Fieller(unittest.TestCase):
    def test_an_oracle_without_spread_leaves_the_t_interval(self):
        x, y = [1.0, 2.0, 3.0], [4.0, 4.0, 4.0]
        low, high = student.fieller(x, y)
        half = 4.30265 * 1 / math.sqrt(3) / 4
        self.assertAlmostEqual(low, 0.5 - half, places=5)
        self.assertAlmostEqual(high, 0.5 + half, places=5)

    def test_equal_gains_are_a_share_of_one_and_proportional_ones_their_factor(self):
        y = [2.0, 3.0, 2.5, 3.5]
        for factor in (1.0, 0.4):
            for end in student.fieller([factor * value for value in y], y):
                self.assertAlmostEqual(end, factor, places=9)

    def test_its_ends_are_where_the_paired_test_is_at_its_level(self):
        x, y = [1.1, 2.3, 1.9, 1.4, 2.2], [3.9, 4.4, 5.1, 4.0, 4.6]
        for end in student.fieller(x, y):
            differences = [a - end * b for a, b in zip(x, y)]
            self.assertAlmostEqual(student.gain(differences)[2], 0.05, places=9)

    def test_an_oracle_that_gains_nothing_certain_has_no_interval(self):
        self.assertIsNone(student.fieller([1.0, 2.0, 3.0], [-1.0, 0.5, 1.5]))

    def test_it_covers_the_true_share_at_its_level(self):
        draw = random.Random(5)
        covered, trials = 0, 2000
        for _ in range(trials):
            seeds = [draw.gauss(0, 0.5) for _ in range(5)]  # what the base did by chance enters both gains
            x = [0.6 * 5 + noise + draw.gauss(0, 0.4) for noise in seeds]
            y = [5 + noise + draw.gauss(0, 0.6) for noise in seeds]
            low, high = student.fieller(x, y)
            covered += low <= 0.6 <= high
        self.assertLess(abs(covered / trials - 0.95), 4 * math.sqrt(0.95 * 0.05 / trials))


class Command(unittest.TestCase):
    def test_share_prints_gains_and_shares(self):
        done = run("share", lines({"infonce": [0.5, 0.6, 0.55], "debiased_negatives": [0.52, 0.62, 0.57], "unbiased": [0.54, 0.64, 0.59]}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| `debiased_negatives` | +2.00 ± 0.00 |", done.stdout)
        self.assertIn("| 50 % (50 to 50) |", done.stdout)

    def test_share_says_where_the_oracle_is_inconclusive(self):
        done = run("share", lines({"infonce": [0.5, 0.6, 0.55], "a": [0.52, 0.61, 0.58], "unbiased": [0.45, 0.64, 0.56]}))
        self.assertIn("no interval: the oracle's gain is inconclusive", done.stdout)

    def test_choose_takes_the_best_setting_of_each_loss_over_its_tau_plus(self):
        t = "objective.temperature="
        done = run("choose", lines({f"infonce/{t}0.2": [0.7], f"infonce/{t}0.5": [0.6], f"debiased_negatives_0.1/{t}0.2": [0.65],
                                    f"debiased_negatives_0.25/{t}0.5": [0.66], f"unbiased/{t}0.5": [0.8]}))
        self.assertEqual(done.stdout.splitlines(), [
            "  - {variant: infonce, set: {objective.temperature: 0.2}}   # infonce: 70.00 %",
            "  - {variant: debiased_negatives, set: {objective.temperature: 0.5, objective.tau_plus: 0.25}}   # debiased_negatives_0.25: 66.00 %",
            "  - {variant: unbiased, set: {objective.temperature: 0.5}}   # unbiased: 80.00 %",
        ])

    def assert_refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_refuses_what_is_no_file_of_runs_in_one_line(self):
        two = {"infonce": [0.5, 0.6], "unbiased": [0.6, 0.7]}
        self.assert_refused(run("share", "{\n"), ":1: is no line of scripts/keep_results.py")
        self.assert_refused(run("share", ""), "holds no run")
        self.assert_refused(run("share", lines(two), "--metric", "test.acc1"), "has no test.acc1", "it has: test.knn_acc1")
        self.assert_refused(run("share", lines(two), "--oracle", "orcale"), "no run of 'orcale'", "infonce, unbiased")
        self.assert_refused(run("share", lines({"infonce": [0.5], "unbiased": [0.6]})), "needs 2")
        self.assert_refused(run("share", lines({"infonce": [0.5, 0.6], "unbiased": [0.6, 0.7, 0.8]})), "finish the sweep first")


if __name__ == "__main__":
    unittest.main()
