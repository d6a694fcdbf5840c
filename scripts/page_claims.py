"""What pages say of the outcomes of scripts/result_outcomes.py: stars in tables, outcomes of claims, counts in sentences.

Each entry gives the text that the runs give now; scripts/check_results.py looks for it on the page.
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


# page, the table's n-th whose head begins so, family, what a cell compares: (left, right, point), or None. A cell ends in * where the
# difference is significant with p adjusted over the family.
def less_ce(at):
    return lambda row, column: (code(row[0]), "ce", at) if column.endswith("− `ce`") and row[column] else None


def less_ce_by_point(row, column):
    at, _, reference = column.partition(" − ")
    return (code(row[0]), "ce", at) if reference and row[column] else None


def with_fairkl(row, column):
    return (f"{code(column)}_fairkl", code(column), row[0]) if column.startswith("with `") else None


def less_none(row, column):
    return (code(row[0].split(" (")[0]), "none", "") if column.endswith("− `none`") and row[column] else None


def less_infonce(row, column):
    return (code(row[0]), "infonce", "") if column.endswith("− `infonce`") and row[column] else None


def of_tasks(reference):
    metrics = {"neighbours": "test.neighbour_acc", "MR": "mr_acc", "CR": "cr_acc", "SUBJ": "subj_acc", "MPQA": "mpqa_acc", "TREC": "trec_acc",
               "MSRP": "msrp_acc", "MSRP F1": "msrp_f1"}

    def compared(row, column):
        left, _, right = column.partition(" − ")
        if right != reference:
            return None
        if reference == "untrained":
            return None if row[0] == "neighbours" else (left, right, metrics[row[0]])
        return f"debiased_{left}", right, metrics[row[0]]
    return compared


STARS = [
    *(("biased-mnist-groups.md", "| method |", n, BM, less_ce(at)) for n, at in enumerate(FOUR)),
    ("biased-mnist.md", "| correlation | with", 0, BM, with_fairkl),
    ("rivals.md", "| method | bias labels |", 0, "rivals on biased-mnist", less_ce_by_point),
    ("rivals-corrupted-cifar10.md", "| method |", 0, "rivals on corrupted-cifar10", less_ce("")),
    *(("unknown-bias.md", "| method |", n, photos, less_ce("")) for n, photos in enumerate(("square", "tint"))),
    ("cifar10.md", "| method |", 0, "cifar10", less_infonce),
    ("cifar10-batch-size.md", "| method |", 0, "cifar10-batch-size", less_infonce),
    ("fairkl-divergence.md", "| setting |", 0, "fairkl-divergence", less_none),
    *(("sentences.md", "| | biased − untrained |", n, f"{name} less {reference}", of_tasks(reference))
      for n, name in enumerate(("novels", "novels_gru")) for reference in ("untrained", "biased", "control")),
]


def claim(page, row, family, left, right, points=("",), names=None, shown=None, digits=1):
    """A row's cell of the difference at `shown` (all points where it is None) and the next cell, which begins with the outcomes."""
    def expected(families):
        found = [families[family].of(left, right, at) for at in points]
        numbers = [signed(each, digits) for each, at in zip(found, points) if shown in (None, at)]
        return f"{', '.join(numbers)} | {outcomes_text(names or points, [each.outcome() for each in found])}"
    return f"docs/{page}", f"| {row}", expected


def at_four(page, row, left, right, shown="0.995"):
    return claim(page, row, BM, left, right, FOUR, shown=shown)


def at_shares(page, row, left, right, shown="5pct"):
    return claim(page, row, CC, left, right, [at for at, _ in SHARES], [name for _, name in SHARES], shown)


INDEX = "results/index.md"
FAIRKL = "eps_supinfonce_fairkl"
CLAIMS = [  # page, how its row begins, what the row has to contain
    at_four(INDEX, "FairKL improves ε-SupInfoNCE on Biased-MNIST", FAIRKL, "eps_supinfonce"),
    at_four(INDEX, "FairKL improves cross-entropy", "ce_fairkl", "ce"),
    at_four(INDEX, "FairKL with ε-SupInfoNCE is above `bias_balanced`", FAIRKL, "bias_balanced"),
    at_four(INDEX, "ε-SupCon is above cross-entropy", "eps_supcon", "ce"),
    at_four(INDEX, "ε-SupInfoNCE is above cross-entropy", "eps_supinfonce", "ce"),
    at_shares(INDEX, "FairKL is above cross-entropy on Corrupted CIFAR-10", FAIRKL, "ce"),
    at_shares(INDEX, "FairKL is above EnD", FAIRKL, "end"),
    at_shares(INDEX, "EnD is below cross-entropy", "end", "ce"),
    claim(INDEX, "ε-SupInfoNCE and ε-SupCon differ only at 0.999", "similarities", "gap at 0.999", "gap at 0.99"),
    claim(INDEX, "`debiased_positives` is above `infonce`, CIFAR-10", "cifar10", "debiased_positives", "infonce"),
    claim(INDEX, "`debiased_negatives` is above `infonce`, CIFAR-10", "cifar10", "debiased_negatives_0.1", "infonce"),
    *(claim(INDEX, f"`{left}` is above `{right}`, {where}", family, left, right)
      for where, family in (("CIFAR-10", "cifar10"), ("five batch sizes", "cifar10-batch-size"))
      for left, right in (("hard_negatives", "infonce"), ("bayesian", "infonce"), ("bayesian", "hard_negatives"))),
    claim(INDEX, "Debiasing raises returns, cartpole", "control", "debiased", "biased", ("cartpole_swingup",), digits=0),
    claim("results/control.md", "debiased less biased, cartpole", "control", "debiased", "biased", ("cartpole_swingup",), digits=0),
    claim("results/control.md", "debiased less biased, reacher", "control", "debiased", "biased", ("reacher_easy",), digits=0),
    *(claim("results/cifar10.md", f"`{left}` above `{right}`", "cifar10", left + suffix, right + ("_0.1" if right == "debiased_negatives" else ""))
      for left, right, suffix in (
          ("debiased_positives", "infonce", ""), ("debiased_positives", "debiased_negatives", ""), ("debiased_negatives", "infonce", "_0.1"),
          ("hard_negatives", "infonce", ""), ("bayesian", "infonce", ""), ("hard_negatives", "debiased_negatives", ""),
          ("bayesian", "debiased_negatives", ""), ("bayesian", "hard_negatives", ""))),
    *(claim("results/cifar10-batch-size.md", f"`{left}` above `{right}`", "cifar10-batch-size", left, right) for left, right in (
        ("hard_negatives", "infonce"), ("bayesian", "infonce"), ("debiased_negatives", "infonce"), ("hard_negatives", "debiased_negatives"),
        ("bayesian", "debiased_negatives"), ("bayesian", "hard_negatives"))),
    *(at_shares("results/corrupted-cifar10.md", row, left, right, None) for row, left, right in (
        ("FairKL above cross-entropy", FAIRKL, "ce"), ("FairKL above EnD", FAIRKL, "end"), ("EnD below cross-entropy", "end", "ce"),
        ("FairKL without variances slightly below all of FairKL", f"{FAIRKL}-means", FAIRKL),
        ("FairKL under a projection head below FairKL without one", f"{FAIRKL}-head", FAIRKL))),
    at_four("reproduce/unbiased-supervised.md", "U4: FairKL improves ε-SupInfoNCE", FAIRKL, "eps_supinfonce", "0.999"),
    at_four("reproduce/unbiased-supervised.md", "U5: FairKL above `bias_balanced`", FAIRKL, "bias_balanced"),
    at_shares("reproduce/unbiased-supervised.md", "U6: FairKL above EnD", FAIRKL, "end"),
    at_shares("reproduce/unbiased-supervised.md", "U10: means alone lose little", f"{FAIRKL}-means", FAIRKL),
    claim("reproduce/unbiased-supervised.md", "U12:", "similarities", "gap at 0.999", "gap at 0.99"),
    claim("reproduce/mitigating-biases.md", "M1: `debiased_positives` above `infonce`", "cifar10", "debiased_positives", "infonce"),
    claim("reproduce/mitigating-biases.md", "M1: `debiased_positives` above `debiased_negatives`", "cifar10", "debiased_positives", "debiased_negatives_0.1"),
    claim("reproduce/mitigating-biases.md", "M1: `debiased_negatives` above `infonce`", "cifar10", "debiased_negatives_0.1", "infonce"),
    *(claim(f"reproduce/{page}", f"{row}, {where}", family, left, right + (suffix if right == "debiased_negatives" else ""))
      for where, family, suffix in (("three seeds", "cifar10", "_0.1"), ("five batch sizes", "cifar10-batch-size", ""))
      for page, row, left, right in (
          ("bayesian.md", "above `infonce`", "bayesian", "infonce"), ("bayesian.md", "above `hard_negatives`", "bayesian", "hard_negatives"),
          ("hard-negatives.md", "above `infonce`", "hard_negatives", "infonce"),
          ("hard-negatives.md", "above `debiased_negatives`", "hard_negatives", "debiased_negatives"))),
    claim("reproduce/debiased-contrastive.md", "debiasing beats InfoNCE on CIFAR-10", "cifar10", "debiased_negatives_0.1", "infonce"),
    claim("reproduce/debiased-contrastive.md", "the oracle beats InfoNCE", "cifar10", "unbiased", "infonce"),
    claim("reproduce/debiased-contrastive.md", "debiasing raises returns", "control", "debiased", "biased", ("cartpole_swingup",), digits=0),
]


def leads(family, best, points):
    """8, 7 and 5 of the 9 others: how many `best` is significantly above, at each point."""
    counts, others = [], 0
    for at in points:
        compared = [each if each.left == best else each.turned() for each in family.comparisons if each.at == at and best in (each.left, each.right)]
        counts.append(sum(each.is_significant() and each.mean > 0 for each in compared))
        others = len(compared)
    return f"{listing(map(str, counts))} of the {others} others"


def row_of_counts(name, counts):
    return f"| {name} | {' | '.join(str(counts[outcome]) for outcome in OUTCOMES[:4])} |"


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
RESULTS, INDEX_PAGE, WEIGHTS, CHOOSE = "docs/results/", "docs/results/index.md", "docs/results/fairkl-weights.md", "docs/choose-a-loss.md"
BM_PAGE, CC_PAGE, RIVALS = (f"{RESULTS}{page}.md" for page in ("biased-mnist", "corrupted-cifar10", "rivals"))
SENTENCES = [  # pages, text
    (("README.md", INDEX_PAGE, BM_PAGE), lambda families: counts_text(families[BM].counts())),
    (("README.md", CC_PAGE), lambda families: counts_text(families[CC].counts())),
    ((BM_PAGE,), lambda families: f"Unadjusted, they would be {counts_text(families[BM].counts(adjusted=False))}"),
    ((CC_PAGE,), lambda families: f"Unadjusted, they would be {counts_text(families[CC].counts(adjusted=False))}"),
    *(((BM_PAGE,), lambda families, at=at: row_of_counts(at, families[BM].counts(at))) for at in FOUR),
    ((BM_PAGE,), lambda families: row_of_counts("all", families[BM].counts())),
    ((BM_PAGE, CHOOSE, "docs/objectives/bias_balanced.md"), lambda families: leads(families[BM], "bias_balanced", FOUR[:3])),
    ((BM_PAGE, CHOOSE), best_at_0999),
    ((RIVALS, CHOOSE), lambda families: leads(families["rivals on biased-mnist less bias_balanced"], "bias_balanced", ("0.995", "0.99"))),
    ((RIVALS,), less_reference("rivals on biased-mnist")),
    ((f"{RESULTS}rivals-corrupted-cifar10.md",), less_reference("rivals on corrupted-cifar10")),
    (("README.md",), of_cifar10),
    ((f"{RESULTS}cifar10.md",), alone_and_adjusted("cifar10")),
    *(((f"{RESULTS}sentences.md",), beside(name, reference)) for name in ("novels", "novels_gru") for reference in ("biased", "control")),
    ((INDEX_PAGE,), of_all_sentences),
    ((f"{RESULTS}fix.md",), beside_peers),
    ((WEIGHTS,), weights_text(2, "1e-4", "1e-2", "0.999, 0.5")),
    ((WEIGHTS,), weights_text(1, "1e-2", "0.1", "0.999, 0.5")),
    *(((WEIGHTS,), weights_text(2, "1e-4", "1e-2", ", ".join(row))) for row in ROWS[1:5]),
    ((WEIGHTS,), weights_text(2, "1e-2", "1e-4", "0.995, 1")),
    ((WEIGHTS,), weights_text(2, "1", "1e-2", "0.999, 0.5")),
    ((WEIGHTS,), weights_text(1, "1", "0.1", "0.999, 0.5")),
    ((WEIGHTS,), beside_weight_1(ALPHA_TWICE, "1e-4")),
    ((WEIGHTS, INDEX_PAGE, "docs/reproduce/unbiased-supervised.md"), beside_weight_1(ALPHA_ONCE, "1e-2")),
    ((WEIGHTS,), rows_above),
]
