#!/usr/bin/env python3
"""Prints what scikit-learn's logistic regression finds for the rows of linear_classifiers_test.cpp, as its cases. Not part of the tests: it
needs `pip install scikit-learn==1.9.1` (run with Python 3.11, NumPy 2.4.6).

A case: rows, dimensions, classes, l2; the objective at its minimum, and the accuracy on the second half of the rows after a fit to the
first."""
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

CASES = [(200, 3, 2, 1.0), (1400, 8, 5, 1.0), (3000, 16, 10, 0.01)]
MASK = 2**64 - 1


def drawn_rows(count, dim, classes, state=1):
    """Row i is of class i % classes: its entry at class % dim is raised, and dimension d is 4^(d % 5) times larger than the first, about 50."""
    def following():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        return (state >> 33) % 1024

    rows = np.empty((count, dim))
    for i in range(count):
        for d in range(dim):
            own = i % classes % dim == d
            rows[i, d] = 50 + 4.0 ** (d % 5) * (following() / 256 + following() / 256 + (2 + i % classes // dim if own else 0))
    return rows.astype(np.float32).astype(np.float64), np.arange(count) % classes


if __name__ == "__main__":
    for count, dim, classes, l2 in CASES:
        rows, labels = drawn_rows(2 * count, dim, classes)
        scaler = StandardScaler().fit(rows[:count])
        x, other = scaler.transform(rows[:count]), scaler.transform(rows[count:])
        # Two classes have one row of weights w there, which stands for +w/2 and -w/2: half of the penalty here, and of the squares.
        halves = 2 if classes == 2 else 1
        model = LogisticRegression(C=halves / l2, tol=1e-10, max_iter=100000).fit(x, labels[:count])
        log_p = model.predict_log_proba(x)
        objective = -log_p[np.arange(count), labels[:count]].mean() + l2 / (2 * count) * (model.coef_**2).sum() / halves
        accuracy = (model.predict(other) == labels[count:]).mean()
        print("SklearnCase{" + ", ".join(map(repr, [count, dim, classes, l2, round(float(objective), 9), float(accuracy)])) + "},")
