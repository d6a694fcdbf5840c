"""What the library does with options, for where it is not: defaults, variants, ranges and choices from the table of objectives."""

import difflib
import math

_VARIANTS = ("stable", "paper", "authors")


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
    if number is None or math.isnan(number) or not _inside(number, option["range"]):
        raise _refusal(entry, name, f"a number {'' if option['range'].startswith('>') else 'in '}{option['range']}", value)
    return number


def resolved(entry, given):
    given = dict(given)
    variant = given.pop("variant", "stable")
    if variant not in _VARIANTS:
        raise ValueError(f"objective '{entry['name']}': variant: unknown value '{variant}'; give {', '.join(_VARIANTS)}")
    out = {}
    for option in entry["options"]:
        default = option.get("variants", {}).get(variant, option["default"])
        out[option["name"]] = _checked(entry, option, given.get(option["name"], default))
    if entry["name"] == "eps_supcon" and out["add_epsilon"] and math.isinf(out["epsilon"]):
        raise ValueError("objective 'eps_supcon': epsilon: inf makes the loss infinite while it is added; set add_epsilon: false")
    return out
