"""Features of a bias model, whose cosines measure how similar two samples' biases are."""

import torch

from .log_space import wide


def unit_bias_features(name, weights, conditions):
    """[B, F] constants of unit norm, in the widest type."""
    features = weights.detach().to(wide(weights.device))
    norms = torch.linalg.vector_norm(features, dim=1, keepdim=True)
    sound = (norms > 0) & norms.isfinite()
    conditions.require(sound.all(), lambda: f"{name}: weights: the row of sample {int((~sound).nonzero()[0, 0])} is zero or not finite and "
                                            "has no direction")
    return features / torch.where(sound, norms, 1)
