"""A program of a user's, checked by mypy --strict in test_types.py and run by it."""

import torch

import debias


def step(model: torch.nn.Linear, x: torch.Tensor, labels: list[int]) -> float:
    contrastive = debias.DebiasedNegativesLoss(0.5, tau_plus=0.1, clamp="fallback")
    supervised = debias.SupConLoss(temperature=0.1, form="in")
    value: torch.Tensor = contrastive(model(x), model(x)) + supervised(model(x), labels)
    torch.autograd.grad(value, list(model.parameters()), allow_unused=True)
    diagnostics = contrastive.diagnostics
    assert diagnostics is not None
    clamped: int = diagnostics.clamped
    pairs: torch.Tensor = debias.TwoTowerLoss("bayesian", tau_plus=0.01)(x, x, ids=labels)
    cached: torch.Tensor = debias.CachedStep(encode=model, loss=supervised, chunk=2)(x, labels=labels)
    prior: float = debias.prior.from_labels(labels).tau_plus
    table = debias.FeatureTable(x, labels, bias=["in", "out"] * (len(labels) // 2))
    priors: float = debias.prior.from_labels(table).tau_plus
    return float(pairs + cached) + clamped + prior - priors


def trained(folder: str) -> float:
    run: debias.Run = debias.train("demo/infonce", train={"epochs": 1}, output=folder)
    found: debias.Evaluations = debias.evaluate(run, ["knn"], knn={"k": 5})
    accuracy: float = found["knn"].metrics["test.knn_acc1"]
    page: str = debias.report(run).html
    fixed = debias.fix(debias.FeatureTable.load("z.npy"), "fixed")
    corrected: torch.Tensor = fixed.transform(torch.zeros(2, 3))
    logits: torch.Tensor = fixed.module()(corrected)
    names: list[str] = fixed.predict(corrected)
    return accuracy + len(page) + len(names) + float(logits.sum() + fixed.correct(corrected).sum())


if __name__ == "__main__":
    print(step(torch.nn.Linear(4, 3), torch.randn(4, 4), [0, 1, 0, 1]))
