"""The objectives by their names in the registry, each a function (name, options, call, scale, conditions) -> Result."""

from .bias_pairs import biascon, softcon
from .call import Conditions, check_shapes, require_usable_ids
from .debiased import combined_debiased, debiased_negatives, debiased_positives
from .end import end
from .fairkl import fairkl
from .label_free import eps_infonce, infonce, unbiased
from .logits import bias_balanced, cross_entropy, generalized_cross_entropy, large_margin_softmax
from .over_classes import eps_supcon, eps_supinfonce, supcon
from .weighted import bayesian, hard_negatives

OBJECTIVES = {function.__name__: function for function in (
    infonce, unbiased, debiased_negatives, debiased_positives, combined_debiased, hard_negatives, bayesian, supcon, eps_infonce,
    eps_supinfonce, eps_supcon, biascon, softcon, fairkl, end, cross_entropy, bias_balanced, generalized_cross_entropy,
    large_margin_softmax)}


def evaluated(entry, options, call):
    """The Result of the objective that `entry` of the table describes. `options` have been resolved; call.temperature: in their place."""
    name = entry["name"]
    check_shapes(name, entry, call, options)
    scale, conditions = 1.0, Conditions()
    require_usable_ids(name, entry, options, call, conditions)
    if "temperature" in options:
        call = call._replace(temperature=options["temperature"] if call.temperature is None else call.temperature)
        scale = 1.0 if options["base_temperature"] == "none" else call.temperature / options["base_temperature"]
    return conditions.applied(OBJECTIVES[name](name, options, call, scale, conditions))
