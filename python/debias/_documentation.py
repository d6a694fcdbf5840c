"""Formula, paper and example of every loss, for its docstring. s is a similarity z_a · z_j / t, P the positives, N the negatives."""

_DCL, _HCL, _BCL = "https://arxiv.org/abs/2007.00224", "https://arxiv.org/abs/2010.04592", "https://arxiv.org/abs/2301.11673"
_SIMCLR, _SUPCON, _USC = "https://arxiv.org/abs/2002.05709", "https://arxiv.org/abs/2004.11362", "https://arxiv.org/abs/2211.05568"
_MDB, _BIASCON = "https://github.com/intsystems/2023-Project-123", "https://github.com/grayhong/bias-contrastive-learning"

_SOURCES = {
    "infonce": (r"-\log \frac{e^{s_p}}{e^{s_p} + \sum_{j \in N} e^{s_j}}", _SIMCLR),
    "unbiased": (r"-\log \frac{e^{s_p}}{e^{s_p} + |N| \, \mathrm{mean}_{j: y_j \ne y} e^{s_j}}", _DCL),
    "debiased_negatives": (r"-\log \frac{e^{s_p}}{e^{s_p} + |N| g}, \quad g = \max\left(\frac{\mathrm{mean}_N e^{s_j} - \tau^+ e^{s_p}}"
                           r"{1 - \tau^+}, e^{-1/t}\right)", _DCL),
    "debiased_positives": (r"-\log \frac{n}{n + |N| \tau^+ P^-}, \quad n = P - (1 - \tau^+) P^-", _MDB),
    "combined_debiased": (r"\mathrm{mix} \cdot L_{debiased\_negatives} + (1 - \mathrm{mix}) L_{debiased\_positives}", _MDB),
    "hard_negatives": (r"-\log \frac{e^{s_p}}{e^{s_p} + |N| g} \text{ with negatives weighted by } e^{\beta s_j}", _HCL),
    "bayesian": (r"-\log \frac{e^{s_p}}{e^{s_p} + \sum_{j \in N} w_j e^{s_j}}, \quad w_j \propto p(\text{true} | \text{rank}_j) e^{\beta s_j}", _BCL),
    "supcon": (r"\mathrm{mean}_{i \in P} \left[ \log \sum_{j \ne a} e^{s_j} - s_i \right]", _SUPCON),
    "eps_infonce": (r"\log\left(e^{-\epsilon} + \sum_{j \in N} e^{s_j - s_p}\right)", _USC),
    "eps_supinfonce": (r"\mathrm{mean}_{i \in P} \log\left(e^{-\epsilon} + \sum_{j \in N} e^{s_j - s_i}\right)", _USC),
    "eps_supcon": (r"\epsilon + \mathrm{mean}_{i \in P} \left[ \log\left(\sum_{k \in P} e^{s_k - \epsilon} + \sum_{j \in N} e^{s_j}\right) - s_i \right]",
                   _USC),
    "biascon": (r"\mathrm{mean}_{i \in P, b_i \ne b} \left[ \log \sum_{j \ne a} e^{s_j} - s_i \right]", _BIASCON),
    "softcon": (r"\frac{\sum_{i \in P} m_i [ \log \sum_{j \ne a} e^{s_j} - s_i ]}{\sum_{i \in P} m_i}, \quad m_i = 1 - \cos(g_a, g_i)", _BIASCON),
    "fairkl": (r"D(\text{positive aligned}, \text{positive conflicting}) + D(\text{negative aligned}, \text{negative conflicting})", _USC),
    "end": (r"\alpha R_\perp + \beta R_\parallel", "https://arxiv.org/abs/2103.02023"),
    "cross_entropy": (r"-\log p_y", "https://pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html"),
    "bias_balanced": (r"-\log \mathrm{softmax}(z + \log P(\cdot | b))_y", _BIASCON),
    "generalized_cross_entropy": (r"(1 - p_y^q) / q", "https://arxiv.org/abs/1805.07836"),
    "large_margin_softmax": (r"-\log \frac{e^{s \psi(\theta_y)}}{e^{s \psi(\theta_y)} + \sum_{j \ne y} e^{z_j}}, \quad "
                             r"\psi(\theta) = (-1)^k \cos(m \theta) - 2k", "https://arxiv.org/abs/1612.02295"),
}

_VIEWS = "views [B, D] each, or [B, V, D]"
_SHAPES = {"logits": "logits [B, C] and labels [B]", "pairs": _VIEWS, "regulariser": "features [B, D] or [B, V, D], with labels [B]"}


def _example(entry, class_name):
    if entry["kind"] == "logits":
        bias = ", [0, 1, 1, 0]" if entry["needs_bias"] else ""
        return [f">>> loss = debias.{class_name}()", f">>> loss(torch.randn(4, 3, requires_grad=True), [0, 1, 2, 1]{bias}).backward()"]
    if entry["min_views"] == 1:
        bias = ", weights=torch.rand(6, 3) + 0.1" if entry["name"] == "softcon" else ", [0, 1, 1, 0, 1, 0]" if entry["needs_bias"] or \
            entry["takes_bias_features"] else ""
        return [f">>> loss = debias.{class_name}()", f">>> loss(torch.randn(6, 4, requires_grad=True), [0, 1, 2, 0, 1, 0]{bias}).backward()"]
    labels = ", labels=[0, 1, 2, 0, 1, 0]" if entry["needs_labels"] else ""
    return [f">>> loss = debias.{class_name}()", ">>> z0, z1 = torch.randn(6, 4, requires_grad=True), torch.randn(6, 4)",
            f">>> loss(z0, z1{labels}).backward()"]


def lines_of(entry, class_name):
    """Equation, source, shapes and example."""
    equation, source = _SOURCES[entry["name"]]
    return [f".. math:: {equation}", "", f"Source: {source}", "", f"Shape: {_SHAPES[entry['kind']]}; the value is one number, per anchor with "
            'reduction="none".' if entry["kind"] != "regulariser" else f"Shape: {_SHAPES[entry['kind']]}; the value is one number.", "",
            "Example::", "", *(f"    {line}" for line in _example(entry, class_name)), ""]
