"""The single runs of docs/results/*.jsonl, as scripts/keep_results.py writes them."""

import json


class Runs:
    """The values of the runs of files, by setting, epoch and seed."""

    def __init__(self, folder, *files):
        self.found = {}
        for file in files:
            for line in (folder / file).read_text(encoding="utf-8").splitlines():
                run = json.loads(line)
                setting, seed = run["run"].rsplit("/seed-", 1)
                self.found.setdefault((setting, run.get("epoch")), {})[seed] = run

    def values(self, setting, metric, epoch=None):
        """By seed; without an epoch, those of any that have the metric."""
        return {seed: run[metric] for (name, number), seeds in self.found.items() if name == setting and epoch in (None, number)
                for seed, run in seeds.items() if metric in run}
