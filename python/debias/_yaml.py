"""YAML 1.2 as the program reads it: `on` and `no` are words and 1e-3 is a number. YAML 1.1, and hence yaml.safe_load, differ."""

import functools
import pathlib
import re
from typing import Any

_SCALARS = [("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"), ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
            ("int", r"[-+]?[0-9]+", list("-+0123456789")),
            ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+0123456789."))]


@functools.cache
def _loader() -> Any:
    try:
        import yaml
    except ImportError:
        raise ImportError("debias: recipes are YAML files and PyYAML is not installed; pip install pyyaml") from None

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict = {}

    for kind, pattern, first in _SCALARS:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(f"^(?:{pattern})$"), list(first))
    Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))
    Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: _number(loader.construct_scalar(node)))
    return Loader


def _number(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def parsed(text: str, source: str) -> Any:
    """The value of `text`. Raises a ValueError of one line, which names `source`, if it is not YAML."""
    loader = _loader()
    import yaml
    try:
        return yaml.load(text, loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" line {mark.line + 1}:" if mark else ""
        raise ValueError(f"{source}:{place} expected YAML, found {getattr(error, 'problem', None) or 'something else'}") from None


def read(path: pathlib.Path) -> Any:
    return parsed(path.read_text(encoding="utf-8"), str(path))


def _quoted(text: str) -> str:
    import json
    return json.dumps(text, ensure_ascii=False)


def flow(value: Any) -> str:
    """A value in flow style, on one line: `{name: adam, betas: [0.9, 0.999]}`. None becomes the word none, as in recipes."""
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value  # a number of numpy or torch
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}.get(repr(value), repr(value))
    if isinstance(value, (str, pathlib.PurePath)):
        return _quoted(str(value))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(str(key))}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        return "[" + ", ".join(flow(one) for one in (value.tolist() if hasattr(value, "tolist") else value)) + "]"
    raise TypeError(f"expected a number, a text, a list or a dict, found {type(value).__name__}")
