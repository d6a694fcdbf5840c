"""Options of every objective that together reach all its forms, clamps, guards and modes; and inputs for them."""

import itertools
import math
import os

import torch

import debias

# Tensors without data that say they are on a GPU.
FAKE_CUDA = not ("stand-ins" in os.environ.get("LD_LIBRARY_PATH", "") and torch.__version__.startswith("2.9."))
TABLE = {entry["name"]: entry for entry in debias.objectives()}


def _every(**choices):
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


CHOSEN = {
    "infonce": [{}, {"temperature": 0.07}, {"drop_false_negatives": True}, {"base_temperature": 0.07}],
    "unbiased": [{}, {"negatives": "drop"}],
    "debiased_negatives": _every(clamp=("floor", "fallback", "positive", "none"), tau_plus=(0.1, 0.4), aggregation=("grouping", "pairs"))
    + [{"drop_false_negatives": True}, {"tau_plus": 0}, {"base_temperature": 0.2}],
    "hard_negatives": _every(clamp=("floor", "none"), beta=(0, 0.7), detach_weights=(False, True)) + [{"tau_plus": 0.5}, {"clamp": "fallback"}],
    "debiased_positives": _every(form=("eq12", "sum", "final"), guard=("floor", "fallback", "none"), drop_false_negatives=(False, True),
                                 tau_plus=(0.1, 0.6)) + [{"aggregation": "pairs"}],
    "combined_debiased": _every(mix=(0, 0.3, 1), guard=("floor", "none")) + [{"drop_false_negatives": True}],
    "bayesian": _every(form=("corrected", "paper"), alpha=(0.5, 0.9), beta=(0, 1)) + _every(form=("authors",), beta=(0.5, 0.9),
                                                                                            stabilize=(True, False))
    + [{"detach_weights": False}, {"alpha": 1}, {"variant": "authors"}],
    "eps_infonce": [{}, {"epsilon": 0}, {"epsilon": math.inf}, {"variant": "authors"}],
    "supcon": [{}, {"form": "in"}, {"variant": "authors"}],
    "biascon": [{}, {"temperature": 0.5}],
    "softcon": [{}, {"temperature": 0.5}],
    "eps_supcon": [{}, {"add_epsilon": False, "over_positives": "sum"}, {"epsilon": math.inf, "add_epsilon": False}, {"variant": "authors"}],
    "eps_supinfonce": _every(form="abcd", epsilon=(0, 0.25, math.inf), over_positives=("mean", "sum"))
    + [{"form": "in"}, {"log_eps": 1e-3}, {"variant": "authors"}, {"variant": "paper"}],
    "fairkl": _every(mode=("authors", "mean", "stats", "kl", "jeffreys", "lognormal"), empty=("auto", "skip", "zero"))
    + _every(mode=("mean", "stats", "kl", "jeffreys", "lognormal"), pooling=("anchor",), empty=("skip", "zero"))
    + [{}, {"pooling": "anchor"}, {"mode": "stats", "kld": 0.3}, {"kld": 0}, {"variant": "paper"}, {"variant": "authors"}],
    "end": [{}, {"full_pairs": True}, {"alpha": 2, "beta": 0.5}],
    "generalized_cross_entropy": [{}, {"form": "lff"}, {"q": 1}],
    "large_margin_softmax": [{}, {"margin": 1}, {"margin": 4, "scale": 6}, {"margin": 3, "blend": 0.5}, {"variant": "paper"}],
}
NAMES = list(TABLE)
SETTINGS = {name: CHOSEN.get(name, [{}]) for name in NAMES}  # an objective without options, or one that is new, as it is
assert not CHOSEN.keys() - TABLE.keys(), "settings of no objective"
KEYED = [name for name in NAMES if TABLE[name]["takes_keys"]]
LABELS, BIAS = [0, 1, -1, 0, 1, 2, 0], [0, 0, 1, 1, -1, 0, 0]


def cases(name):
    """Numbers of views."""
    least = TABLE[name]["min_views"]
    return [1] if TABLE[name]["kind"] == "logits" else [views for views in (1, 2, 3) if views >= least]


def given(name, views, samples=7, seed=0, weighted=False):
    """A call's keywords: z of unit norm (logits), labels, bias labels, and bias features where they are read."""
    generator = torch.Generator().manual_seed(100 * samples + 10 * views + seed)
    entry = TABLE[name]
    z = torch.randn((samples, 4) if entry["kind"] == "logits" else (samples, views, 3), generator=generator, dtype=torch.float64)
    z = z if entry["kind"] == "logits" else torch.nn.functional.normalize(z, dim=-1)
    out = {"z": z, "labels": torch.tensor(LABELS[:samples]), "bias": torch.tensor(BIAS[:samples])}
    if name == "softcon" or weighted:
        out["weights"] = torch.rand(samples, 3, generator=generator, dtype=torch.float64) + 0.05
    return out


def keyed(samples, positives, keys=9, seed=0):
    """Keys of the samples and of others, with ids and labels: a further view's rows where `positives`."""
    generator = torch.Generator().manual_seed(seed)
    rows = lambda *shape: torch.nn.functional.normalize(torch.randn(*shape, 3, generator=generator, dtype=torch.float64), dim=-1)
    ids = torch.arange(samples) + 20
    key_ids = torch.cat([ids, ids[:1], torch.full((keys - samples - 1,), -1)])
    labels = torch.tensor(LABELS[:samples])
    key_labels = torch.cat([labels, labels[:1], torch.arange(keys - samples - 1) % 3 - 1])
    return {"keys": rows(keys), "ids": ids, "key_ids": key_ids, "key_labels": key_labels,
            "positives": rows(samples, 1) if positives else None}


def loss_of(name, **options):
    from debias._losses import class_name
    return getattr(debias, class_name(name))(**options)
