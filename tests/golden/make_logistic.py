#!/usr/bin/env python3
"""tests/golden/make_logistic.py: what scikit-learn's logistic regression comes to on made-up rows, in tests/golden/logistic/fits.json.

Run with scikit-learn and numpy in an environment of its own. Rows are a hash of row and column, scaled to length 1; a column of ones takes the
place of the intercept, so that it is regularised, as liblinear's is. tests/evaluate/protocols/linear_classifiers_test.cpp makes the same rows.
"""

import json
import pathlib

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression

ROWS, COLUMNS, C = 2000, 40, [1, 16, 256]


def number(i, j):
    value = (i * 7919 + j * 104729 + 12345) % 2**32
    for _ in range(3):
        value = (value ^ (value >> 15)) * 0x2C1B3C6D % 2**32
        value = (value ^ (value >> 12)) * 0x297A2D39 % 2**32
    return value / 2**32 - 0.5


def main():
    x = np.array([[number(i, j) for j in range(COLUMNS)] for i in range(ROWS)])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    truth = np.array([number(ROWS + 7, j) for j in range(COLUMNS)])
    y = np.where(x @ truth + np.array([0.3 * number(i, COLUMNS + 3) for i in range(ROWS)]) > 0.02, 1, -1)
    with_ones = np.hstack([x, np.ones((ROWS, 1))])
    fits = []
    for c in C:
        model = LogisticRegression(C=c, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(with_ones, y)
        w = model.coef_[0]
        objective = 0.5 * w @ w + c * np.sum(np.logaddexp(0, -y * (with_ones @ w)))
        fits.append({"C": c, "objective": objective, "weights": list(w),
                     "predicted": "".join("1" if p > 0 else "0" for p in model.predict(with_ones))})
    out = pathlib.Path(__file__).parent / "logistic"
    out.mkdir(exist_ok=True)
    (out / "fits.json").write_text(json.dumps({"scikit-learn": sklearn.__version__, "positive": int((y > 0).sum()), "fits": fits}))
    print(sklearn.__version__, int((y > 0).sum()), [fit["objective"] for fit in fits])


if __name__ == "__main__":
    main()
