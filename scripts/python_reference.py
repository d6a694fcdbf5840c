"""The reference page of the Python package, read from its sources without importing them: names, signatures and docstrings."""

import ast
import importlib.util
import json
import re

from program_listing import ROOT
from python_stubs import class_name

PACKAGE = ROOT / "python/debias"
HIDDEN = {"forward", "extra_repr", "of"}  # what a call runs, and what the package calls itself


def module_named(name):
    spec = importlib.util.spec_from_file_location(name, PACKAGE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parsed(module):
    return ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))


def public_names():
    """Name -> module, of what `import debias` gives and lists in __all__."""
    tree, found = parsed("__init__"), {}
    listed = next(node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    names = [item.value for item in listed.elts if isinstance(item, ast.Constant)]
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            found.update({alias.asname or alias.name: node.module or alias.name for alias in node.names})
    return {name: found[name] for name in names}


def signature(function, name, drop_first):
    arguments = ast.unparse(function.args)
    if drop_first:
        arguments = re.sub(r"^\w+(: [^,]+)?(, |$)", "", arguments)
    returns = f" -> {ast.unparse(function.returns)}" if function.returns is not None and ast.unparse(function.returns) != "None" else ""
    return f"{name}({arguments}){returns}"


def wrapped(text, width=80):
    """A signature on lines of at most `width` columns, broken after commas outside of brackets."""
    if len(text) <= width:
        return text
    head, _, rest = text.partition("(")
    parts, depth, start = [], 0, 0
    for place, char in enumerate(rest):
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            break
        if char == "," and depth == 0:
            parts.append(rest[start:place].strip())
            start = place + 1
    last, after = rest[start:place].strip(), rest[place:]
    lines, line = [], ""
    for part in [*[part + "," for part in parts], last + after]:
        if line and len(line) + len(part) > width - 4:
            lines.append(line)
            line = ""
        line = f"{line} {part}".strip()
    return f"{head}(\n    " + "\n    ".join([*lines, line])


def block(text):
    return f"```python\n{wrapped(text)}\n```\n\n"


def as_markdown(text):
    """A line of a docstring: literals and roles as code."""
    return re.sub(r":\w+:`", "`", re.sub(r"``([^`]+)``", r"`\1`", text))


def paragraphs(text):
    """The docstring's paragraphs, each with whether it is indented. A blank line within an example does not end it."""
    for lines in re.split(r"\n\s*\n", text.strip("\n")):
        yield lines.splitlines()


def described(lines):
    """`key: text` lines, indented, as list items; a deeper line goes on with the item before it."""
    items = []
    for line in lines:
        if line.startswith("     ") and items:
            items[-1] += " " + line.strip()
        else:
            key, _, text = line.strip().partition(": ")
            items.append(f"- `{key}`: {text}")
    return [as_markdown(item).replace("``", "`") for item in items]


def markdown(lines):
    first = lines[0]
    if first == "Args:":
        return described(lines[1:])
    if first.startswith(".. math:: "):
        return ["$$", first.removeprefix(".. math:: "), "$$"]
    if first.startswith((">>>", "    ")):
        return ["```python", *(line.removeprefix("    ") for line in lines), "```"]
    return [as_markdown(line).replace("Example::", "Example:") for line in lines]


def docstring(node):
    text = ast.get_docstring(node, clean=not isinstance(node, ast.Module)) or ""
    made = ["\n".join(markdown(lines)) for lines in paragraphs(text)]
    return re.sub(r"```\n\n```python\n", "\n", "\n\n".join(made)) + "\n\n" if text else ""


def is_property(node):
    return any(ast.unparse(mark) in ("property", "functools.cached_property", "cached_property") for mark in node.decorator_list)


def member(node):
    text = as_markdown(" ".join((ast.get_docstring(node) or "").split()))
    said = f": {text}" if text else ""
    if is_property(node):
        kind = f": {ast.unparse(node.returns)}" if node.returns is not None else ""
        return f"- `{node.name}{kind}`{said}\n"
    return f"- `{signature(node, node.name, True)}`{said}\n"


def class_section(node, name):
    functions = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    starts = [item for item in functions if item.name == "__init__"]
    fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and not item.target.id.startswith("_")]
    text = block("class " + (signature(starts[0], name, True) if starts else name)) + docstring(node)
    members = [f"- `{ast.unparse(item.target)}: {ast.unparse(item.annotation)}`\n" for item in fields]
    shown = [item for item in functions if item.name == "__call__" or not (item.name.startswith("_") or item.name in HIDDEN)]
    members += [member(item) for item in shown]
    return text + "".join(members) + ("\n" if members else "")


def defined(name, module):
    """Its definition, also where the module has it from another one."""
    for node in parsed(module).body:
        if getattr(node, "name", None) == name:
            return node
        if isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names):
            return defined(name, node.module)
    raise SystemExit(f"python_reference: python/debias/{module}.py does not define {name}")


def section(name, module):
    if module == name:  # a module of its own
        tree = parsed(module)
        text = f"## debias.{name}\n\n" + docstring(tree)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                text += f"### debias.{name}.{node.name}\n\n" + block(signature(node, node.name, False)) + docstring(node)
        return text
    node = defined(name, module)
    body = class_section(node, name) if isinstance(node, ast.ClassDef) else block(signature(node, name, False)) + docstring(node)
    return f"## debias.{name}\n\n{body}"


def default_of(option):
    value = option["default"]
    return "auto" if value is None else json.dumps(value) if isinstance(value, bool) else str(value)


def loss_section(entry, documentation):
    name = class_name(entry["name"])
    equation, source = documentation._SOURCES[entry["name"]]
    example = "\n".join(line.removeprefix(">>> ") for line in documentation._example(entry, name))
    options = [f"{option['name']}={option['default']!r}" for option in entry["options"]]
    needs = [word for key, word in (("needs_labels", "labels"), ("needs_bias", "bias labels")) if entry[key]]
    text = f"## debias.{name}\n\n" + block(f"class {name}({', '.join(options)})")
    text += f"{entry['summary'][0].upper()}{entry['summary'][1:]}.\n\n$$\n{equation}\n$$\n\n"
    text += f"Needs {' and '.join(needs)}. " if needs else ""
    text += f"Source: <{source}>. Command and options: [`{entry['name']}`](../objectives/{entry['name']}.md).\n\n"
    return text + f"```python\n{example}\n```\n\n"


def common_options():
    """What every loss takes beside its own options, as list items."""
    table = next(node.value for node in parsed("_losses").body if isinstance(node, ast.Assign) and node.targets[0].id == "_COMMON")
    items = zip(table.keys, table.values)
    return "".join(f"- `{key.value}={ast.unparse(value.elts[0])}`: {value.elts[1].value}\n" for key, value in items)


def python_page(note):
    documentation = module_named("_documentation")
    entries = json.loads((PACKAGE / "objectives.json").read_text(encoding="utf-8"))
    text = f"# Python API\n\n{note}All public names of `import debias`. [Python](../python.md) explains how to use the package.\n\n"
    text += f"Every loss is a `debias.Objective`, a `torch.nn.Module`. Besides its own options it takes:\n\n{common_options()}\n"
    text += "".join(loss_section(entry, documentation) for entry in entries)
    return text + "".join(section(name, module) for name, module in sorted(public_names().items(), key=lambda item: item[0].lower()))
