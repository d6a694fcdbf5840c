#!/usr/bin/env python3
"""Prints fairlearn's figures for the samples of groups_test.cpp, as its cases. Not part of the tests: it needs
`pip install fairlearn==0.15.0 scikit-learn==1.9.1`.

With more than two classes each stands against the others and the largest difference counts, as group_metrics.h says."""
from fairlearn.metrics import demographic_parity_difference, equal_opportunity_difference, equalized_odds_difference

CASES = [(2, 2, 500), (2, 3, 301), (3, 3, 600), (10, 10, 5000), (5, 2, 1000)]
MASK = 2**64 - 1


def drawn_samples(classes, groups, count, state=1):
    def following(n):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        return (state >> 33) % n

    labels, biases, predictions = [], [], []
    for _ in range(count):
        label = following(classes)
        bias = label % groups if following(10) < 4 else following(groups)
        labels.append(label)
        biases.append(bias)
        predictions.append(label if following(10) < 6 else bias % classes if following(2) == 0 else following(classes))
    return labels, biases, predictions


def largest(metric, classes, labels, biases, predictions):
    values = []
    for c in range(1 if classes == 2 else 0, classes):
        truth, chosen = [int(y == c) for y in labels], [int(p == c) for p in predictions]
        values.append(float(metric(truth, chosen, sensitive_features=biases)))
    return max(values)


if __name__ == "__main__":
    for case in CASES:
        samples = drawn_samples(*case)
        figures = [largest(metric, case[0], *samples)
                   for metric in (demographic_parity_difference, equal_opportunity_difference, equalized_odds_difference)]
        print("FairlearnCase{" + ", ".join(map(repr, [*case, *figures])) + "},")
