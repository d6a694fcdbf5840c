"""Writes tests/golden/fix.safetensors; needs numpy, safetensors, scikit-learn and concept-erasure (0.2.4): python make_fix.py"""
import pathlib

import numpy as np
import torch
from concept_erasure import LeaceFitter
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

random = np.random.default_rng(20)
n, dimensions, classes, biases = 240, 10, 3, 4
y = random.integers(0, classes, n)
b = np.where(random.random(n) < 0.8, y, random.integers(0, biases, n))
x = random.normal(size=(n, dimensions)) @ random.normal(size=(dimensions, dimensions))
x += 2 * random.normal(size=(classes, dimensions))[y] + 3 * random.normal(size=(biases, dimensions))[b] + 4
x = x.astype(np.float32)

z = torch.nn.functional.one_hot(torch.tensor(b), biases).double()
fitter = LeaceFitter(dimensions, biases, dtype=torch.float64)
fitter.update(torch.tensor(x).double(), z)
eraser = fitter.eraser

groups = np.bincount(y * biases + b, minlength=classes * biases)
weights = 1 / np.maximum(groups, 5)[y * biases + b]
weights *= n / weights.sum()
scaler = StandardScaler().fit(x.astype(np.float64))
head = LogisticRegression(C=0.1, tol=1e-10, max_iter=10000).fit(scaler.transform(x.astype(np.float64)), y, sample_weight=weights)

arrays = {
    "x": x,
    "labels": y,
    "biases": b,
    "leace": np.ascontiguousarray((eraser.proj_left @ eraser.proj_right).numpy()),
    "leace_mean": eraser.bias.numpy(),
    "head_weight": np.ascontiguousarray(head.coef_),
    "head_bias": head.intercept_,
}
save_file(arrays, pathlib.Path(__file__).parent / "fix.safetensors")
print(groups.reshape(classes, biases), np.linalg.matrix_rank(eraser.P.numpy() - np.eye(dimensions)))
