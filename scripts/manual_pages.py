"""Manual pages in section 1: one for each command, `debias-data-make.1` for `debias data make`."""

from program_listing import meaning, spelt, typed, usage


def page_name(command):
    return typed(command).replace(" ", "-")


def escaped(text):
    """As roff takes it: no backslash, no dash that becomes a hyphen, no line that begins as a request does."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def items(arguments):
    return "".join(f".TP\n{bold(spelt(argument))}\n{escaped(meaning(argument))}\n" for argument in arguments)


def examples(footer):
    return f".SH NOTES\n.nf\n{escaped(footer)}\n.fi\n" if footer else ""


def manual_page(command, by_name, version):
    positional = [argument for argument in command["arguments"] if argument["positional"]]
    options = [argument for argument in command["arguments"] if not argument["positional"]]
    name = page_name(command)
    summary = command["summary"].splitlines()[0].removeprefix("debias: ")
    text = f'.TH {name.upper()} 1 "" "debias {version}" "debias"\n.nh\n.ad l\n'
    text += f".SH NAME\n{escaped(name)} \\- {escaped(summary)}\n"
    text += f".SH SYNOPSIS\n{bold(typed(command))} {escaped(usage(command)[len(typed(command)):].strip())}\n"
    if command["parts"]:
        parts = "".join(f".TP\n{bold(typed(by_name[part]))}\n{escaped(by_name[part]['summary'])}\n" for part in command["parts"])
        text += f".SH COMMANDS\n{parts}"
    text += f".SH ARGUMENTS\n{items(positional)}" if positional else ""
    text += f".SH OPTIONS\n{items(options)}" if options else ""
    text += examples(command["footer"])
    related = [page_name(by_name[part]) for part in command["parts"]]
    above = " ".join(command["name"].split()[:-1])
    related = [page_name(by_name[above]), *related] if command["name"] else related
    return text + ".SH SEE ALSO\n" + ",\n".join(f"\\fB{escaped(page)}\\fR(1)" for page in related) + "\n"


def manual_pages(every, version):
    by_name = {command["name"]: command for command in every}
    return {page_name(command): manual_page(command, by_name, version) for command in every}
