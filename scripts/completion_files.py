"""Completions of bash, zsh and fish: commands, options and the values of those that have a list; files for all other values."""

import re

from program_listing import typed

HEAD = "Written by scripts/share_files.py from the program's own list of commands."


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def options_of(command):
    return [argument for argument in command["arguments"] if not argument["positional"]]


def positional_of(command):
    return [argument for argument in command["arguments"] if argument["positional"]]


def flags(command):
    return [name for argument in options_of(command) for name in [argument["name"], *argument["also"]]]


def taking_values(command):
    return [argument for argument in options_of(command) if "value" in argument]


BASH = r'''# {head}
_debias() {{
  local cur prev words cword split
  if declare -F _init_completion >/dev/null; then
    _init_completion -n = || return
  else
    cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} words=("${{COMP_WORDS[@]}}") cword=$COMP_CWORD
  fi
  local command="" i=1 place=0 word
  while ((i < cword)); do
    word=${{words[i]}}
    case " $(_debias_parts "$command") " in
      *" $word "*) command="${{command:+$command }}$word"; ((i++)) ;;
      *) break ;;
    esac
  done
  for ((; i < cword; i++)); do
    word=${{words[i]}}
    case " $(_debias_with_value "$command") " in *" $word "*) ((i++)); continue ;; esac
    [[ $word == -* ]] || ((place++))
  done
  local values=""
  case " $(_debias_with_value "$command") " in
    *" $prev "*) values=$(_debias_values "$command $prev") ;;
    *)
      case $cur in
        -*) COMPREPLY=($(compgen -W "$(_debias_options "$command")" -- "$cur")); return ;;
      esac
      values="$(_debias_parts "$command") $(_debias_values "$command $place")" ;;
  esac
  if [[ -n ${{values// /}} ]]; then COMPREPLY=($(compgen -W "$values" -- "$cur")); fi
  if [[ ${{#COMPREPLY[@]}} -eq 0 && ( $place -gt 0 || -z $(_debias_parts "$command") ) ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}}
_debias_parts() {{
  case $1 in
{parts}
  esac
}}
_debias_options() {{
  case $1 in
{options}
  esac
}}
_debias_with_value() {{
  case $1 in
{with_value}
  esac
}}
_debias_values() {{
  case $1 in
{values}
  esac
}}
complete -F _debias debias
'''


def cases(pairs):
    return "\n".join(f"    {quoted(key)}) echo {quoted(' '.join(words))} ;;" for key, words in pairs if words)


def bash_completion(every):
    values = []
    for command in every:
        places = positional_of(command)
        for argument in taking_values(command):
            values += [(f"{command['name']} {name}", argument["completions"]) for name in [argument["name"], *argument["also"]]]
        values += [(f"{command['name']} {place}", argument["completions"]) for place, argument in enumerate(places)]
    return BASH.format(
        head=HEAD,
        parts=cases((command["name"], [part.split()[-1] for part in command["parts"]]) for command in every),
        options=cases((command["name"], flags(command)) for command in every),
        with_value=cases((command["name"], [name for argument in taking_values(command) for name in [argument["name"], *argument["also"]]])
                         for command in every),
        values=cases(values))


def function_name(command):
    return "_" + re.sub(r"\W", "_", typed(command))


def zsh_text(text):
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:").replace("'", "'\\''")


def zsh_action(argument):
    words = argument["completions"]
    return "(" + " ".join(zsh_text(word) for word in words) + ")" if words else "_files"


def first_words(command):
    """The words that may stand first where a command does something itself and has parts as well."""
    return [part.split()[-1] for part in command["parts"]]


def zsh_lines(command):
    for argument in options_of(command):
        value = f":{zsh_text(argument['value'])}:{zsh_action(argument)}" if "value" in argument else ""
        for name in [argument["name"], *argument["also"]]:
            yield f"'*{name}[{zsh_text(argument['help'])}]{value}'"
    for place, argument in enumerate(positional_of(command)):
        more = {"completions": argument["completions"] + first_words(command)} if place == 0 else {}
        yield f"'{'*' if argument['repeated'] else ''}:{zsh_text(argument['name'])}:{zsh_action({**argument, **more})}'"


def zsh_function(command, by_name):
    lines = list(zsh_lines(command))
    if not command["has_parts"]:
        to_parts = "".join(f"  if (( CURRENT > 2 )) && [[ $words[2] == {part.split()[-1]} ]]; then\n    shift words\n    (( CURRENT-- ))\n"
                           f"    {function_name(by_name[part])}\n    return\n  fi\n" for part in command["parts"])
        return f"{function_name(command)}() {{\n{to_parts}  _arguments \\\n    " + " \\\n    ".join(lines) + "\n}\n"
    described = "\n".join(f"    '{part.split()[-1]}:{zsh_text(by_name[part]['summary'].splitlines()[0])}'" for part in command["parts"])
    calls = "\n".join(f"    {part.split()[-1]}) {function_name(by_name[part])} ;;" for part in command["parts"])
    flags_and_parts = [line for line in lines if not line.startswith("':") and not line.startswith("'*:")]
    return (f"{function_name(command)}() {{\n  local -a parts=(\n{described}\n  )\n  local state line\n  typeset -A opt_args\n"
            f"  _arguments -C \\\n    " + " \\\n    ".join([*flags_and_parts, "'1: :->part'", "'*:: :->rest'"]) +
            "\n  case $state in\n    part) _describe command parts ;;\n    rest) case $line[1] in\n" + calls + "\n    esac ;;\n  esac\n}\n")


def zsh_completion(every):
    by_name = {command["name"]: command for command in every}
    functions = "".join(zsh_function(command, by_name) for command in every)
    return f"#compdef debias\n# {HEAD}\n{functions}_debias \"$@\"\n"


FISH = """# {head}
set -g __debias_commands {commands}
function __debias_at
    set -l found
    for word in (commandline -opc)[2..]
        set -l next (string trim -- "$found $word")
        contains -- "$next" $__debias_commands; or break
        set found "$next"
    end
    test "$found" = "$argv[1]"
end
"""


def fish_line(command, *words):
    condition = f'__debias_at "{command["name"]}"'
    return " ".join(["complete -c debias -n", quoted(condition), *words]) + "\n"


def fish_names(argument):
    return [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in [argument["name"], *argument["also"]]]


def fish_value(argument):
    if "value" not in argument:
        return []
    return ["-x", "-a", quoted(" ".join(argument["completions"]))] if argument["completions"] else ["-r"]


def fish_completion(every):
    summaries = {command["name"]: command["summary"].splitlines()[0] for command in every}
    text = FISH.format(head=HEAD, commands=" ".join(quoted(name) for name in summaries if name))
    for command in every:
        for part in command["parts"]:
            text += fish_line(command, "-f", "-a", part.split()[-1], "-d", quoted(summaries[part]))
        for argument in options_of(command):
            text += fish_line(command, *fish_names(argument), *fish_value(argument), "-d", quoted(argument["help"]))
        for argument in positional_of(command):
            if argument["completions"]:
                text += fish_line(command, "-a", quoted(" ".join(argument["completions"])))
    return text
