#!/usr/bin/env python3
"""scripts/fairkl_gradients.py LABELS.npy BIAS.npy EMBEDDINGS.npy...: the sizes of gradients with respect to normalised embeddings, medians of
ten batches of 256 rows: of epsilon-SupInfoNCE, and of FairKL unweighted, by the divergence with several variance floors and by means.

Beside them the least variance among the four sets of squared distances that the divergence compares, which stand in its denominators.
Embeddings are what `debias embed RUN split=train --out F.npy` writes, labels and bias what `debias data export` does. Wants the Python package.
"""

import sys

import debias
import numpy as np
import torch

ROWS, BATCHES = 256, 10
TERMS = {
    "eps_supinfonce": debias.EpsSupInfoNCELoss(temperature=0.1, base_temperature=0.07, epsilon=0.5),
    "kl": debias.FairKLLoss(mode="kl"),
    "floor 0.1": debias.FairKLLoss(mode="kl", variance_floor=0.1),
    "floor 0.3": debias.FairKLLoss(mode="kl", variance_floor=0.3),
    "floor 1": debias.FairKLLoss(mode="kl", variance_floor=1.0),
    "mean": debias.FairKLLoss(mode="mean"),
}


def gradient_norm(term, rows, labels, bias):
    leaf = rows.clone().requires_grad_(True)
    term(leaf, labels=labels, bias_labels=bias).backward()
    return leaf.grad.norm().item()


def least_variance(rows, labels, bias):
    distances = torch.cdist(rows, rows) ** 2
    others = ~torch.eye(len(rows), dtype=torch.bool)
    one_class, one_bias = labels[:, None] == labels, bias[:, None] == bias
    sets = [distances[others & (one_class == c) & (one_bias == b)] for c in (True, False) for b in (True, False)]
    return min(found.var(unbiased=False).item() for found in sets if len(found) > 1)


def main():
    if len(sys.argv) < 4:
        print("usage: scripts/fairkl_gradients.py LABELS.npy BIAS.npy EMBEDDINGS.npy...", file=sys.stderr)
        return 2
    labels, bias = (torch.tensor(np.load(path)) for path in sys.argv[1:3])
    print("\t".join([*TERMS, "least variance", "embeddings"]))
    for path in sys.argv[3:]:
        rows = torch.tensor(np.load(path), dtype=torch.float64)
        if rows.dim() != 2 or len(rows) != len(labels) or len(rows) != len(bias):
            found = f"{path}: {tuple(rows.shape)} for {len(labels)} labels and {len(bias)} bias labels"
            print(f"{found}; embed the split whose labels were exported", file=sys.stderr)
            return 2
        rows = torch.nn.functional.normalize(rows, dim=1)
        order = torch.Generator().manual_seed(1)
        measured = []
        for _ in range(BATCHES):
            batch = torch.randperm(len(rows), generator=order)[:ROWS]
            given = rows[batch], labels[batch], bias[batch]
            measured.append([gradient_norm(term, *given) for term in TERMS.values()] + [least_variance(*given)])
        print("\t".join(f"{value:.3g}" for value in np.median(measured, axis=0)), path, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
