"""How likely a negative is a true one, by the rank of its similarity among the anchor's negatives (Liu and Wang 2023).

Relative to the distribution function Φ of e^s for a random pair, true negatives have the density T = α (1 - Φ) + (1 - α) Φ (times 2), false
ones the mirror image F; α is the chance that a positive is nearer than a true negative. Then p(true) = τ⁻ T / (τ⁻ T + τ⁺ F). A batch shows
the share r / N of negatives at or below, whose limit is A Φ² + b Φ with A = (1 - 2α)(τ⁻ - τ⁺), b = 2 (α τ⁻ + (1 - α) τ⁺), A + b = 1:

    corrected  p(true) at the root Φ = 2 share / (b + sqrt(b² + 4 A share))
    paper      p(true) at Φ = share
    authors    hard / (τ⁻ T + τ⁺ F) at that root, hard = (α (1 - β)(1 - Φ) + (1 - α) β Φ) / (α (1 - β) + (1 - α) β);
               without `stabilize` 1e-3 is added to A and to the divisor of `hard`, as in the released code
"""

from typing import NamedTuple

import torch

from .log_space import wide

_RELEASED_TERM = 1e-3


def _root(a, b, share):
    """The root of a x² + b x = share in [0, 1]; the discriminant may round below 0."""
    return 2 * share / (b + (b * b + 4 * a * share).clamp_min(0).sqrt()).clamp_min(torch.finfo(share.dtype).tiny)


class RankWeights(NamedTuple):
    form: str
    tau_plus: float
    alpha: float
    beta: float
    stabilize: bool

    def _position(self, below, above):
        """Φ and 1 - Φ. The latter is computed as a root itself, so a weight that vanishes at the largest rank is exactly 0."""
        if self.form == "paper":
            return below, above
        tau_minus = 1 - self.tau_plus
        a = (1 - 2 * self.alpha) * (tau_minus - self.tau_plus)
        b = 2 * (self.alpha * tau_minus + (1 - self.alpha) * self.tau_plus)
        if self.form == "authors" and not self.stabilize:
            phi = _root(a + _RELEASED_TERM, b, below)
            return phi, 1 - phi
        return _root(a, b, below), _root(-a, 1 + a, above)

    def of(self, ranks, negatives):
        """log w of ranks 1..N, -inf where w is 0; `negatives` is N."""
        ranks, count = ranks.to(wide(ranks.device)), negatives.clamp_min(1).to(wide(ranks.device))
        below, above = self._position(ranks / count, (count - ranks) / count)
        alpha, beta, tau_minus = self.alpha, self.beta, 1 - self.tau_plus
        true, false = alpha * above + (1 - alpha) * below, (1 - alpha) * above + alpha * below
        mixture = tau_minus * true + self.tau_plus * false
        divisor = torch.where(mixture > 0, mixture, 1)
        if self.form == "authors":
            nearer, farther = alpha * (1 - beta), (1 - alpha) * beta
            weight = (nearer * above + farther * below) / ((nearer + farther + (0 if self.stabilize else _RELEASED_TERM)) * divisor)
        else:
            weight = tau_minus * true / divisor
        return torch.where(mixture > 0, weight, 1).log()  # α = 1, τ⁺ = 0, the last rank: the limit from every side
