"""The losses of the papers as others write them in PyTorch, for compare_losses.py: `published_*`, the way of the papers' code written plainly
from the formulas (the whole matrix, masks, masked_select), and `expert_*`, dense compositions without masks. z is [V, B, D], views first; t is
the temperature."""

import math

import torch
import torch.nn.functional as F

CLASSES = 10

# Published forms: out [n, D] view-major, t the temperature.


def negative_mask(samples):
    mask = torch.ones(2 * samples, 2 * samples, dtype=torch.bool)
    rows = torch.arange(2 * samples)
    mask[rows, rows] = False
    mask[rows, (rows + samples) % (2 * samples)] = False
    return mask


def published_parts(z, t, mask):
    out = z.flatten(0, 1)
    negatives = torch.exp(out @ out.t() / t).masked_select(mask).view(len(out), -1)
    positive = torch.exp((z[0] * z[1]).sum(-1) / t)
    return torch.cat([positive, positive]), negatives


def published_infonce(z, mask, t=0.5):
    positive, negatives = published_parts(z, t, mask)
    return -torch.log(positive / (positive + negatives.sum(-1))).mean()


def published_debiased(z, mask, t=0.5, tau_plus=0.1):
    positive, negatives = published_parts(z, t, mask)
    count = negatives.shape[1]
    estimate = (-tau_plus * count * positive + negatives.sum(-1)) / (1 - tau_plus)
    estimate = torch.clamp(estimate, min=count * math.exp(-1 / t))
    return -torch.log(positive / (positive + estimate)).mean()


def published_hard(z, mask, t=0.5, tau_plus=0.1, beta=1.0):
    positive, negatives = published_parts(z, t, mask)
    count = negatives.shape[1]
    importance = (beta * negatives.log()).exp()
    reweighted = (importance * negatives).sum(-1) / importance.mean(-1)
    estimate = (-tau_plus * count * positive + reweighted) / (1 - tau_plus)
    estimate = torch.clamp(estimate, min=count * math.exp(-1 / t))
    return -torch.log(positive / (positive + estimate)).mean()


def rank_weights(fraction, tau_plus, alpha, beta):
    """From the empirical distribution of the negatives' scores to their weights, with the constants of the released code."""
    tau_minus = 1 - tau_plus
    a = (1 - 2 * alpha) * (tau_minus - tau_plus) + 1e-3
    b = 2 * (alpha * tau_minus + (1 - alpha) * tau_plus)
    phi = (-b + torch.sqrt(b * b + 4 * a * fraction)) / (2 * a)
    low, high = 2 * (1 - phi), 2 * phi
    true = alpha * low + (1 - alpha) * high
    false = (1 - alpha) * low + alpha * high
    hard = (alpha * (1 - beta) * low + (1 - alpha) * beta * high) / (alpha * (1 - beta) + (1 - alpha) * beta + 1e-3)
    return hard / (tau_minus * true + tau_plus * false)


def published_bayesian(z, mask, t=0.5, tau_plus=0.1, alpha=0.7, beta=0.9):
    positive, negatives = published_parts(z, t, mask)
    with torch.no_grad():
        fraction = (negatives.unsqueeze(1) <= negatives.unsqueeze(2)).float().mean(-1)
        weights = rank_weights(fraction, tau_plus, alpha, beta)
    return -torch.log(positive / (positive + (weights * negatives).sum(-1))).mean()


def class_masks(labels, views=2):
    same = (labels[:, None] == labels[None, :]).float().repeat(views, views)
    others = 1 - torch.eye(len(same))
    return same * others, others, 1 - same


def published_supcon(z, masks, t=0.1):
    positives, others, _ = masks
    out = z.flatten(0, 1)
    logits = out @ out.t() / t
    logits = logits - logits.max(dim=1, keepdim=True).values.detach()
    log_prob = logits - torch.log((torch.exp(logits) * others).sum(1, keepdim=True))
    return -((positives * log_prob).sum(1) / positives.sum(1)).mean()


def published_eps_supinfonce(z, masks, t=0.1, epsilon=0.25):
    positives, _, negatives = masks
    out = z.flatten(0, 1)
    logits = out @ out.t() / t
    logits = logits - logits.max(dim=1, keepdim=True).values.detach()
    exponentials = torch.exp(logits)
    log_prob = logits - torch.log(torch.exp(logits - epsilon) + (exponentials * negatives).sum(1, keepdim=True))
    return -((positives * log_prob).sum(1) / positives.sum(1)).mean()


def published_fairkl(z, masks, kld=1.0):
    out = z.flatten(0, 1)
    gram = out @ out.t()
    parts = [gram * mask for mask in masks]
    means = [part.sum() / mask.sum().clamp(min=1) for part, mask in zip(parts, masks)]
    deviations = [part.std() for part in parts]
    return fairkl_of(means, deviations, kld)


def fairkl_of(means, deviations, kld):
    (pa, pc, na, nc), (spa, spc, sna, snc) = means, deviations
    return (pc - pa) ** 2 + (na - nc) ** 2 + kld * ((spa - spc) ** 2 + (sna - snc) ** 2) - pc + na


def fairkl_masks(labels, bias):
    same, aligned = labels[:, None] == labels[None, :], bias[:, None] == bias[None, :]
    return [same & aligned, same & ~aligned, ~same & aligned, ~same & ~aligned]


# Expert forms: no mask and no select. Rows have norm 1, so that 1/t is the greatest exponent and no maximum need be searched.


def expert_parts(z, t):
    out = z.flatten(0, 1)
    exponentials = torch.addmm(torch.tensor(-1 / t), out / t, out.t()).exp_()
    log_positive = ((z[0] * z[1]).sum(-1) / t - 1 / t).repeat(2)
    return exponentials, log_positive, log_positive.exp()


def expert_infonce(z, t=0.5):
    exponentials, log_positive, _ = expert_parts(z, t)
    return (torch.log(exponentials.sum(1) - exponentials.diagonal()) - log_positive).mean()


def expert_debiased(z, t=0.5, tau_plus=0.1):
    exponentials, log_positive, positive = expert_parts(z, t)
    count = len(exponentials) - 2
    negatives = exponentials.sum(1) - exponentials.diagonal() - positive
    estimate = ((negatives - tau_plus * count * positive) / (1 - tau_plus)).clamp(min=count * math.exp(-2 / t))
    return (torch.log(positive + estimate) - log_positive).mean()


def expert_hard(z, t=0.5, tau_plus=0.1):  # beta = 1: the weights are the exponentials themselves
    exponentials, log_positive, positive = expert_parts(z, t)
    count, own = len(exponentials) - 2, exponentials.diagonal()
    weights = exponentials.sum(1) - own - positive
    weighted = exponentials.square().sum(1) - own.square() - positive.square()
    estimate = ((count * weighted / weights - tau_plus * count * positive) / (1 - tau_plus)).clamp(min=count * math.exp(-2 / t))
    return (torch.log(positive + estimate) - log_positive).mean()


def expert_bayesian(z, t=0.5, tau_plus=0.1, alpha=0.7, beta=0.9):
    exponentials, log_positive, positive = expert_parts(z, t)
    n, samples = len(exponentials), z.shape[1]
    with torch.no_grad():  # by rank, with the row itself and its partner put last and left without weight
        rows = torch.arange(n)
        keys = exponentials.clone()
        keys[rows, rows] = keys[rows, (rows + samples) % n] = math.inf
        by_rank = rank_weights(torch.arange(1, n - 1) / (n - 2), tau_plus, alpha, beta)
        weights = torch.empty_like(keys).scatter_(1, keys.argsort(1), F.pad(by_rank, (0, 2)).expand(n, n))
    return (torch.log(positive + (weights * exponentials).sum(1)) - log_positive).mean()


def expert_supcon(z, labels, t=0.1):
    out, y = z.flatten(0, 1), labels.repeat(2)
    exponentials = torch.addmm(torch.tensor(-1 / t), out / t, out.t()).exp_()
    sums = torch.zeros(CLASSES, z.shape[-1]).index_add(0, y, out)
    counts = torch.bincount(y, minlength=CLASSES)[y] - 1
    positives = ((out * sums[y]).sum(1) - (out * out).sum(1)) / (t * counts)
    return (torch.log(exponentials.sum(1) - exponentials.diagonal()) + 1 / t - positives).mean()


def expert_eps_supinfonce(z, labels, t=0.1, epsilon=0.25):
    out, y = z.flatten(0, 1), labels.repeat(2)
    out = out[y.argsort()]
    total, first = 0, 0
    for rows in out.split(torch.bincount(y).tolist()):  # class by class: the positives of a class are a block
        size = len(rows)
        scores = torch.addmm(torch.tensor(-1 / t), rows / t, out.t())
        exponentials, own_scores = scores.exp(), scores.narrow(1, first, size)
        own = exponentials.narrow(1, first, size)
        negatives = (exponentials.sum(1) - own.sum(1)).unsqueeze(1)
        terms = torch.log(own * math.exp(-epsilon) + negatives) - own_scores
        total = total + (terms.sum() - terms.diagonal().sum()) / (size - 1)
        first += size
    return total / len(out)


def expert_fairkl(z, groups, kld=1.0):
    """groups: one-hot [n, L*G] of (label, bias), and the four sets of pairs of groups."""
    member, sets = groups
    out = z.flatten(0, 1)
    gram = out @ out.t()
    sums, squares = member.t() @ gram @ member, member.t() @ gram.square() @ member
    sizes, entries, means, deviations = member.sum(0), len(out) ** 2, [], []
    for chosen in sets:
        total, count = sums[chosen].sum(), torch.outer(sizes, sizes)[chosen].sum()
        means.append(total / count)
        deviations.append(((squares[chosen].sum() - total * total / entries) / (entries - 1)).sqrt())
    return fairkl_of(means, deviations, kld)


def one_hot_groups(labels, bias):
    member = F.one_hot(labels * CLASSES + bias, CLASSES * CLASSES).float()
    label, value = torch.arange(CLASSES**2) // CLASSES, torch.arange(CLASSES**2) % CLASSES
    return member, fairkl_masks(label, value)
