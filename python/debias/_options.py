"""Options without the library: defaults, variants, ranges and choices from the table of objectives."""

import difflib
import math

VARIANTS = ("stable", "paper", "authors")
_ALIASES = {"default": "stable", "original_code": "authors", "original-code": "authors"}


def _number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def _inside(number, words):
    """`words`: '[0.5, 1]', '[0, 1)', '(0, 1]', '>= 0' or '>= 0 or inf'."""
    if words.startswith(">="):
        return number >= float(words[2:].split(" or ")[0]) and (math.isfinite(number) or words.endswith("or inf"))
    low, high = (float(part) for part in words[1:-1].split(","))
    return (low < number if words[0] == "(" else low <= number) and (number < high if words[-1] == ")" else number <= high)


def _refusal(entry, option, expected, found):
    return ValueError(f"objective '{entry['name']}': {option}: expected {expected}, found {found}")


def _checked(entry, option, value):
    name, kind = option["name"], option["type"]
    if kind == "boolean":
        if not isinstance(value, bool):
            raise _refusal(entry, name, "true or false", value)
        return value
    if kind == "word":
        if value not in option["choices"]:
            near = difflib.get_close_matches(str(value), option["choices"], n=1)
            raise ValueError(f"objective '{entry['name']}': {name}: unknown value '{value}'; " +
                             (f"did you mean '{near[0]}'?" if near else f"give {', '.join(option['choices'])}"))
        return value
    if kind.endswith("or none") and value in (None, "none"):
        return "none"
    number = None if isinstance(value, bool) else _number(value)
    if kind == "integer":
        if number is None or not number.is_integer():
            raise _refusal(entry, name, "an integer", value)
        number = int(number)
    if number is None or math.isnan(number) or not _inside(number, option["range"]):
        raise _refusal(entry, name, f"a number {'' if option['range'].startswith('>') else 'in '}{option['range']}", value)
    return number


def _variant(given):
    name = given.get("variant", "stable")
    return _ALIASES.get(name, name)


def resolved(entry, given):
    variant = _variant(given)
    if variant not in VARIANTS:
        raise ValueError(f"objective '{entry['name']}': variant: unknown value '{variant}'; give {', '.join(VARIANTS)}")
    out = {}
    for option in entry["options"]:
        default = option.get("variants", {}).get(variant, option["default"])
        out[option["name"]] = _checked(entry, option, given.get(option["name"], default))
    _DEPENDENT.get(entry["name"], lambda out, given: None)(out, given)
    return out


def _eps_supcon(out, given):
    if out["add_epsilon"] and math.isinf(out["epsilon"]):
        raise ValueError("objective 'eps_supcon': epsilon: inf makes the loss infinite while it is added; set add_epsilon: false")


def _bayesian(out, given):
    if out["form"] != "authors":
        return
    if not 0.5 <= out["beta"] <= 1:
        raise ValueError(f"objective 'bayesian': beta: form authors takes [0.5, 1], found {out['beta']:g}; choose form corrected or paper for "
                         "other values")
    if out["alpha"] == 1 and out["beta"] == 1:
        raise ValueError("objective 'bayesian': alpha 1 with beta 1 weights every negative with zero in form authors; take either below 1")


def _fairkl(out, given):
    if "mode" not in given and _variant(given) == "stable" and out["pooling"] == "anchor":
        out["mode"] = "mean"
    if out["mode"] == "authors" and out["pooling"] == "anchor":
        raise ValueError("objective 'fairkl': mode authors pools over the batch; give pooling batch or another mode")
    if out["kld"] != 1 and out["mode"] not in ("stats", "authors"):
        raise ValueError(f"objective 'fairkl': kld weighs the deviations of modes stats and authors, mode {out['mode']} has none; leave it "
                         "at 1")


# Options that depend on others.
_DEPENDENT = {"eps_supcon": _eps_supcon, "bayesian": _bayesian, "fairkl": _fairkl}
