"""The tables of the results' pages are what the single runs give, and an outcome or a count that they do not give is named."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "result_pages.py"
sys.path.insert(0, str(SCRIPT.parent))

import result_outcomes  # noqa: E402
import student  # noqa: E402


class ResultPages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for part in ("docs", "recipes"):
            shutil.copytree(ROOT / part, self.root / part)
        shutil.copy(ROOT / "README.md", self.root)

    def change(self, page, old, new):
        path = self.root / page if (self.root / page).exists() else self.root / "docs/results" / page
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def run_script(self, *words):
        done = subprocess.run([sys.executable, "-B", SCRIPT, *words, self.root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def faults_after(self, page, old, new):
        self.change(page, old, new)
        status, output = self.run_script("--check")
        self.assertEqual(status, 1)
        return output

    def test_the_pages_agree_with_the_single_runs(self):
        status, output = self.run_script("--check")
        self.assertEqual(status, 0, output)

    def test_cells_and_stars_that_differ_are_named_and_written_anew(self):
        pages = ("biased-mnist.md", "corrupted-cifar10.md", "sentences.md", "rivals.md", "rivals.md", "cifar10.md")
        before = [(self.root / "docs/results" / page).read_bytes() for page in pages]
        for page, right, wrong in zip(pages, ("62.5 ± 1.9", "21.2 ± 0.8", "+1.10 ± 0.54", "+12.3 ± 3.7 |", "+21.8 ± 6.0 *", "+4.8 ± 1.0 *"),
                                      ("63.5 ± 1.9", "21.2 ± 0.9", "−1.10 ± 0.54", "+12.3 ± 3.7 * |", "+21.8 ± 6.0", "+4.9 ± 1.0 *")):
            output = self.faults_after(page, right, wrong)
            self.assertIn(f"docs/results/{page}: |", output)
        self.assertEqual(output.count("the runs give"), len(pages), output)
        self.assertEqual(self.run_script()[0], 0)
        self.assertEqual([(self.root / "docs/results" / page).read_bytes() for page in pages], before)

    def test_a_marker_without_its_table_is_named(self):
        self.assertIn("cifar10.md: a marker has no table below it", self.faults_after("cifar10.md", "-->\n\n| method", "-->\n\nIn words:\n\n| method"))

    def test_an_outcome_that_the_adjusted_test_does_not_give_is_named(self):
        output = self.faults_after("cifar10.md", "+1.9 ± 1.5 | inconclusive |", "+1.9 ± 1.5 | confirmed |")
        self.assertEqual(output, "0 of 1 rows that begin with '`debiased_positives` above `infonce`' have '+1.9 ± 1.5 | inconclusive', "
                         "which the runs give\n")

    def test_an_outcome_at_fewer_points_is_named(self):
        output = self.faults_after("index.md", "+30.6 ± 2.4 | confirmed at all four correlations |", "+30.6 ± 2.4 | confirmed |")
        self.assertIn("'+30.6 ± 2.4 | confirmed at all four'", output)

    def test_a_count_that_differs_is_named_and_one_that_no_family_gives(self):
        output = self.faults_after("README.md", "88 confirmed", "89 confirmed")
        self.assertIn("'88 confirmed, 15 contradicted, 52 inconclusive, 25 inconclusive in the paper', which the runs give, is said", output)
        self.assertIn("README.md: '89 confirmed' is counted nowhere", output)
        output = self.faults_after("docs/fix.md", "# ", "# 7 confirmed: ")
        self.assertIn("docs/fix.md: '7 confirmed' is counted nowhere", output)

    def test_a_run_that_changes_changes_the_outcome(self):
        path = self.root / "docs/results/cifar10_batch.jsonl"
        runs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for run in runs:
            if run["run"] == "hard_negatives/train.batch_size=16/seed-1":
                run["test.knn_acc1"] = 0.2
        path.write_text("".join(f"{json.dumps(run)}\n" for run in runs), encoding="utf-8")
        status, output = self.run_script("--check")
        self.assertEqual(status, 1)
        self.assertIn("rows that begin with '`hard_negatives` is above `infonce`, five batch sizes' have", output)


class Outcomes(unittest.TestCase):
    def compared(self, mean, p, **published):
        return result_outcomes.Comparison("", "a", "b", mean, 1.0, p, **published)

    def test_p_values_are_adjusted_over_the_family_and_comparisons_without_a_test_are_not_counted(self):
        family = result_outcomes.Family([self.compared(1, 0.01), self.compared(1, None), self.compared(1, 0.04), self.compared(-1, 0.03)])
        self.assertEqual([found.p_holm for found in family.comparisons], [0.03, None, 0.06, 0.06])
        self.assertEqual((family.significant(), family.significant(adjusted=False), family.significant(adjusted=False, below=True)), (1, 3, 1))

    def test_outcomes(self):
        for mean, p, published, expected in ((1, 0.01, {"published": 1}, "confirmed"), (-1, 0.01, {"published": 1}, "contradicted"),
                                             (1, 0.06, {"published": 1}, "inconclusive"), (1, None, {"published": 1}, "inconclusive"),
                                             (1, 0.01, {"published": 1, "is_conclusive_in_paper": False}, "inconclusive in the paper"),
                                             (1, 0.01, {}, "significant")):
            found = self.compared(mean, p, **published)
            self.assertEqual(found.outcome(adjusted=False), expected)
            self.assertEqual(found.turned().outcome(adjusted=False), expected)

    def test_equal_differences_have_no_test(self):
        seeds = {"1": 0.5, "2": 0.6, "3": 0.7}
        self.assertIsNone(result_outcomes.compare("", "a", "b", {seed: value + 0.1 for seed, value in seeds.items()}, seeds).p)
        with self.assertRaises(ValueError):
            result_outcomes.compare("", "a", "b", {"1": 0.5, "2": 0.6}, seeds)

    def test_welch_of_published_numbers(self):
        # scipy.stats.ttest_ind_from_stats(0.97, 0.0006, 3, 0.8365, 0.0036, 3, equal_var=False)
        self.assertAlmostEqual(student.welch(0.97, 0.0006, 3, 0.8365, 0.0036, 3), 0.000169, places=6)

    def test_published_numbers_are_those_of_the_recipe(self):
        published = result_outcomes.published_of(ROOT / "recipes/small/biased_mnist.yaml")
        self.assertEqual(len(published), 40)
        self.assertEqual(published["0.995", "eps_supinfonce_fairkl"], result_outcomes.Published(0.97, 0.0006, 3))
        self.assertEqual(published["0.999", "ce"], result_outcomes.Published(0.118, 0.007, None))
        weights = result_outcomes.published_weights(ROOT, 2)
        self.assertEqual(weights["0.995, 1", "1e-2"], result_outcomes.Published(0.9397, 0.0183, 3))


if __name__ == "__main__":
    unittest.main()
