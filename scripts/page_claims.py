"""What pages say of the outcomes of scripts/result_outcomes.py in words: outcomes of claims, counts in sentences.

Each entry gives the text that the runs give now; scripts/result_pages.py looks for it on the pages.
"""

import re

from result_outcomes import INCONCLUSIVE, OUTCOMES, SIGNIFICANT

FOUR = ("0.99", "0.995", "0.997", "0.999")
SHARES = (("1pct", "1 %"), ("5pct", "5 %"))
BM, CC, ALPHA_ONCE, ALPHA_TWICE = "biased-mnist", "corrupted-cifar10", "fairkl-weights (alpha once)", "fairkl-weights (alpha twice)"
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def code(cell):
    """`ce` + `fairkl` -> ce_fairkl"""
    return "_".join(re.findall(r"`([^`]+)`", cell))


def signed(comparison, digits=1):
    """+1.5 ± 0.3"""
    return f"{comparison.mean:+.{digits}f} ± {comparison.half:.{digits}f}".replace("-", "−")


def listing(words):
    words = list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def outcomes_text(points, outcomes):
    """confirmed at all four; inconclusive at 1 %, confirmed at 5 %: outcomes in the order of the points at which they begin."""
    if len(points) == 1:
        return outcomes[0]
    if len(set(outcomes)) == 1:
        return f"{outcomes[0]} at {'both' if len(points) == 2 else f'all {NUMBERS[len(points)]}'}"
    parts = [(each, [point for point, outcome in zip(points, outcomes) if outcome == each]) for each in dict.fromkeys(outcomes)]
    return ", ".join(f"{outcome} at {listing(where)}" for outcome, where in parts)


def counts_text(counts):
    """88 confirmed, 15 contradicted, 52 inconclusive, 25 inconclusive in the paper"""
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])


def claim(row, family, left, right, points=("",), names=None, shown=None, digits=1, times=1):
    """A row's cell of the difference at `shown` (all points where it is None) and the next cell, which begins with the outcomes."""
    def expected(families):
        found = [families[family].of(left, right, at) for at in points]
        numbers = [signed(each, digits) for each, at in zip(found, points) if shown in (None, at)]
        return f"{', '.join(numbers)} | {outcomes_text(names or points, [each.outcome() for each in found])}"
    return row, expected, times


def at_four(row, left, right, shown="0.995"):
    return claim(row, BM, left, right, FOUR, shown=shown)


def at_shares(row, left, right, shown="5pct"):
    return claim(row, CC, left, right, [at for at, _ in SHARES], [name for _, name in SHARES], shown)


FAIRKL = "eps_supinfonce_fairkl"
CLAIMS = [  # how a row of a table begins, what it has to contain, in how many rows
    at_four("FairKL improves ε-SupInfoNCE on Biased-MNIST", FAIRKL, "eps_supinfonce"),
    at_four("FairKL improves cross-entropy", "ce_fairkl", "ce"),
    at_four("FairKL with ε-SupInfoNCE is above `bias_balanced`", FAIRKL, "bias_balanced"),
    at_four("ε-SupCon is above cross-entropy", "eps_supcon", "ce"),
    at_four("ε-SupInfoNCE is above cross-entropy", "eps_supinfonce", "ce"),
    at_shares("FairKL is above cross-entropy on Corrupted CIFAR-10", FAIRKL, "ce"),
    at_shares("FairKL is above EnD", FAIRKL, "end"),
    at_shares("EnD is below cross-entropy", "end", "ce"),
    claim("ε-SupInfoNCE and ε-SupCon differ only at 0.999", "similarities", "gap at 0.999", "gap at 0.99"),
    claim("`debiased_positives` is above `infonce`, CIFAR-10", "cifar10", "debiased_positives", "infonce"),
    claim("`debiased_negatives` is above `infonce`, CIFAR-10", "cifar10", "debiased_negatives_0.1", "infonce"),
    *(claim(f"`{left}` is above `{right}`, {where}", family, left, right)
      for where, family in (("CIFAR-10", "cifar10"), ("five batch sizes", "cifar10-batch-size"))
      for left, right in (("hard_negatives", "infonce"), ("bayesian", "infonce"), ("bayesian", "hard_negatives"))),
    claim("Debiasing raises returns, cartpole", "control", "debiased", "biased", ("cartpole_swingup",), digits=0),
    claim("debiased less biased, cartpole", "control", "debiased", "biased", ("cartpole_swingup",), digits=0),
    claim("debiased less biased, reacher", "control", "debiased", "biased", ("reacher_easy",), digits=0),
    *(claim(f"`{left}` above `{right}`", "cifar10", left + suffix, right + ("_0.1" if right == "debiased_negatives" else ""))
      for left, right, suffix in (
          ("debiased_positives", "infonce", ""), ("debiased_positives", "debiased_negatives", ""), ("debiased_negatives", "infonce", "_0.1"),
          ("hard_negatives", "infonce", ""), ("bayesian", "infonce", ""), ("hard_negatives", "debiased_negatives", ""),
          ("bayesian", "debiased_negatives", ""), ("bayesian", "hard_negatives", ""))),
    *(claim(f"`{left}` above `{right}`", "cifar10-batch-size", left, right) for left, right in (
        ("hard_negatives", "infonce"), ("bayesian", "infonce"), ("debiased_negatives", "infonce"), ("hard_negatives", "debiased_negatives"),
        ("bayesian", "debiased_negatives"), ("bayesian", "hard_negatives"))),
    *(at_shares(row, left, right, None) for row, left, right in (
        ("FairKL above cross-entropy", FAIRKL, "ce"), ("FairKL above EnD", FAIRKL, "end"), ("EnD below cross-entropy", "end", "ce"),
        ("FairKL without variances slightly below all of FairKL", f"{FAIRKL}-means", FAIRKL),
        ("FairKL under a projection head below FairKL without one", f"{FAIRKL}-head", FAIRKL))),
]


def leads(family, best, points):
    """8, 7 and 5 of the 9 others: how many `best` is significantly above, at each point."""
    counts, others = [], 0
    for at in points:
        compared = [each if each.left == best else each.turned() for each in family.comparisons if each.at == at and best in (each.left, each.right)]
        counts.append(sum(each.is_significant() and each.mean > 0 for each in compared))
        others = len(compared)
    return f"{listing(map(str, counts))} of the {others} others"


def weights_text(applied, left, right, at):
    def text(families):
        found = families[ALPHA_ONCE if applied == 1 else ALPHA_TWICE].of(left, right, at)
        return f"{left} less {right}: {signed(found)}, {found.outcome()}"
    return text


def beside_weight_1(family, small):
    def text(families):
        return outcomes_text([f"{at} (λ {weight})" for at, weight in ROWS], [families[family].of(small, "1", ", ".join(row)).outcome() for row in ROWS])
    return text


def rows_above(families):
    def above(weight):
        return sum(families[ALPHA_ONCE].of("1e-2", weight, ", ".join(row)).is_significant() for row in ROWS)
    return f"significantly above 1e-4 in {above('1e-4')} of 6 rows and above 1 in {above('1')}"


def best_at_0999(families):
    found = families[BM].of("ce_fairkl", "bias_balanced", "0.999")
    return f"{signed(found)}, {SIGNIFICANT if found.is_significant() else INCONCLUSIVE}"


def beside(name, reference):
    def text(families):
        family = families[f"{name} less {reference}"]
        return (f"{family.significant()} of {len(family.comparisons)} comparisons with the {reference} loss are significant "
                f"({family.significant(adjusted=False)} unadjusted)")
    return text


def of_all_sentences(families):
    found = [families[f"{name} less {reference}"] for name in ("novels", "novels_gru") for reference in ("biased", "control")]
    return (f"{sum(each.significant() for each in found)} of {sum(len(each.comparisons) for each in found)} comparisons are significant "
            f"({sum(each.significant(adjusted=False) for each in found)} unadjusted)")


def beside_peers(families):
    auto, balanced = families["fix auto"], families["fix balanced"]
    return (f"{auto.significant(below=True)} of the {len(auto.comparisons)} differences of `auto` are significantly below −1 "
            f"({auto.significant(adjusted=False, below=True)} unadjusted), and {balanced.significant(below=True)} of the "
            f"{len(balanced.comparisons)} of `balanced` ({balanced.significant(adjusted=False, below=True)} unadjusted)")


def of_cifar10(families):
    seeds, sizes = families["cifar10"].counts(), families["cifar10-batch-size"].counts()
    return f"of {seeds.total()}, {counts_text(seeds)}; over five batch sizes, of {sizes.total()}, {counts_text(sizes)}"


def alone_and_adjusted(name):
    def text(families):
        family = families[name]
        return (f"{family.significant(adjusted=False)} of the {len(family.comparisons)} comparisons are significant by themselves, "
                f"{family.significant()} after Holm")
    return text


def less_reference(name):
    return lambda families: f"{families[name].significant()} of these {len(families[name].comparisons)} differences are significant"


ROWS = tuple((at, weight) for at in ("0.999", "0.997", "0.995") for weight in ("0.5", "1"))
SENTENCES = [  # text, and how often it is said
    (lambda families: counts_text(families[BM].counts()), 3),
    (lambda families: counts_text(families[CC].counts()), 2),
    *((lambda families, name=name: f"Unadjusted, they would be {counts_text(families[name].counts(adjusted=False))}", 1) for name in (BM, CC)),
    (lambda families: leads(families[BM], "bias_balanced", FOUR[:3]), 3),
    (best_at_0999, 2),
    (lambda families: leads(families["rivals on biased-mnist less bias_balanced"], "bias_balanced", ("0.995", "0.99")), 2),
    (less_reference("rivals on biased-mnist"), 1),
    (less_reference("rivals on corrupted-cifar10"), 1),
    (of_cifar10, 1),
    (alone_and_adjusted("cifar10"), 1),
    *((beside(name, reference), 1) for name in ("novels", "novels_gru") for reference in ("biased", "control")),
    (of_all_sentences, 1),
    (beside_peers, 1),
    *((weights_text(applied, left, right, at), 1) for applied, left, right, at in (
        (2, "1e-4", "1e-2", "0.999, 0.5"), (1, "1e-2", "0.1", "0.999, 0.5"), *((2, "1e-4", "1e-2", ", ".join(row)) for row in ROWS[1:5]),
        (2, "1e-2", "1e-4", "0.995, 1"), (2, "1", "1e-2", "0.999, 0.5"), (1, "1", "0.1", "0.999, 0.5"))),
    (beside_weight_1(ALPHA_TWICE, "1e-4"), 1),
    (beside_weight_1(ALPHA_ONCE, "1e-2"), 2),
    (rows_above, 1),
]
