"""``incast completion``: scripts by which shells complete commands, options and names.

The scripts are generated from the parser and self-contained: completing starts no Python.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from incast import catalogue
from incast.cli.options import Commands, add_command, choice_option
from incast.scenario.choice import ALL

FILES = "files"
FOLDERS = "folders"


@dataclass(frozen=True)
class Word:
    """An option or a positional argument.

    Attributes:
        names: ``--out``; empty for a positional.
        help: What it is.
        takes: ``files`` or ``folders``, a tuple of words, or None for anything else.
        value: Whether it takes a value.
        listed: Whether its value is several words with commas between them.
    """

    names: tuple[str, ...]
    help: str
    takes: str | tuple[str, ...] | None = None
    value: bool = True
    listed: bool = False


@dataclass(frozen=True)
class Command:
    """A command and its words."""

    name: str
    help: str
    options: list[Word] = field(default_factory=list)
    positionals: list[Word] = field(default_factory=list)


def add(commands: Commands) -> None:
    """Adds the command."""
    sub = add_command(
        commands,
        act,
        "completion",
        "print a completion script for a shell",
        "Prints a script that completes commands, options and names in a shell.",
        epilog=_EPILOG,
    )
    choice_option(sub, "shell", sorted(_SHELLS), "bash, fish or zsh", metavar="SHELL")


_EPILOG = """\
to have it in every new shell:
  bash  echo 'eval "$(incast completion bash)"' >> ~/.bashrc
  zsh   echo 'eval "$(incast completion zsh)"' >> ~/.zshrc
  fish  incast completion fish > ~/.config/fish/completions/incast.fish
"""


def act(options: argparse.Namespace) -> int:
    """Prints the script."""
    from incast.cli import parser

    print(_SHELLS[options.shell](list(commands(parser()))))
    return 0


def commands(parser: argparse.ArgumentParser) -> Iterator[Command]:
    """The commands of a parser, with their words."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, sub in action.choices.items():
                command = Command(name, helps.get(name, ""))
                for one in sub._actions:
                    word = _word(name, one)
                    (command.options if word.names else command.positionals).append(word)
                yield command


def _word(command: str, action: argparse.Action) -> Word:
    names = tuple(action.option_strings)
    value = action.nargs != 0
    about = (action.help or "").replace("%%", "%")
    takes: str | tuple[str, ...] | None = None
    if action.choices:
        takes = tuple(str(choice) for choice in action.choices)
    elif action.dest in _TAKES:
        takes = _TAKES[action.dest]()
    elif value and action.metavar in ("FILE", "RESULT", "PATH"):
        takes = FILES
    elif value and action.metavar == "DIR":
        takes = FOLDERS
    return Word(names, about, takes, value, action.dest in ("cc", "contestants"))


def _algorithms() -> tuple[str, ...]:
    return (ALL, *(algorithm.name for algorithm in catalogue.algorithms()))


def _contestants() -> tuple[str, ...]:
    return (ALL, *(one.name for one in catalogue.contestants() if one.role != "base"))


def _everything() -> tuple[str, ...]:
    from incast.cli import lists

    return tuple(dict.fromkeys([*lists.KINDS, *lists.names()]))


_TAKES: dict[str, Callable[[], tuple[str, ...]]] = {
    "cc": _algorithms,
    "contestants": _contestants,
    "what": _everything,
    "on": lambda: ("local", "ray", "ray://"),
}
"""Completions that the parser does not give, by the name under which an option is stored."""


def bash(found: list[Command]) -> str:
    """The script for bash."""
    cases = []
    for command in found:
        values = []
        for word in command.options:
            if word.value:
                pattern = "|".join(word.names)
                values.append(f"                {pattern}) {_bash_takes(word)}; return ;;")
        options = " ".join(name for word in command.options for name in word.names)
        rest = _bash_takes(command.positionals[0]) if command.positionals else ":"
        cases.append(
            "\n".join(
                [
                    f"        {command.name})",
                    '            case "$prev" in',
                    *values,
                    "            esac",
                    f'            if [[ $cur == -* ]]; then _incast_words "{options}"; else {rest}; fi ;;',
                ]
            )
        )
    names = " ".join(command.name for command in found)
    return _BASH.replace("@NAMES@", names).replace("@CASES@", "\n".join(cases)).rstrip()


_BASH_TAKES = {FILES: "_incast_files -f", FOLDERS: "_incast_files -d", None: ":"}


def _bash_takes(word: Word) -> str:
    if not isinstance(word.takes, tuple):
        return _BASH_TAKES[word.takes]
    words = shlex.quote(" ".join(word.takes))
    return f"_incast_listed {words}" if word.listed else f"_incast_words {words}"


_BASH = """\
# Completes the command incast in bash.
_incast_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_incast_files() {
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
# Words with commas between them: the last one is completed.
_incast_listed() {
    local before=
    [[ $cur == *,* ]] && before=${cur%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
    compopt -o nospace 2> /dev/null
}
_incast() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi
    done
    case "$command" in
        "") _incast_words "@NAMES@ --help --version" ;;
@CASES@
    esac
}
complete -F _incast incast
"""


def zsh(found: list[Command]) -> str:
    """The script for zsh."""
    names = " ".join(_quoted(f"{c.name}:{c.help}") for c in found)
    cases = []
    for command in found:
        specs = []
        for word in command.options:
            for name in word.names:
                about = word.help.replace("[", "(").replace("]", ")")
                specs.append(
                    _quoted(f"*{name}[{about}]" + (f":value:{_zsh_takes(word)}" if word.value else ""))
                )
        if command.positionals:
            specs.append(_quoted(f"*:value:{_zsh_takes(command.positionals[0])}"))
        lines = " \\\n                ".join(specs)
        cases.append(f"        {command.name})\n            _arguments \\\n                {lines} ;;")
    return _ZSH.replace("@NAMES@", names).replace("@CASES@", "\n".join(cases)).rstrip()


_ZSH_TAKES = {FILES: "_files", FOLDERS: "_files -/", None: " "}


def _zsh_takes(word: Word) -> str:
    if not isinstance(word.takes, tuple):
        return _ZSH_TAKES[word.takes]
    words = " ".join(word.takes).replace(":", r"\:")
    return f"_values -s , value {words}" if word.listed else f"({words})"


def _quoted(text: str) -> str:
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


_ZSH = """\
#compdef incast
# Completes the command incast in zsh.
_incast() {
    local -a names
    names=(@NAMES@)
    if (( CURRENT == 2 )); then
        _describe command names
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
@CASES@
    esac
}
compdef _incast incast
"""


def fish(found: list[Command]) -> str:
    """The script for fish."""
    lines = ["# Completes the command incast in fish.", "complete -c incast -f"]
    for command in found:
        about = _fish_quoted(command.help)
        lines.append(f"complete -c incast -n __fish_use_subcommand -a {command.name} -d {about}")
        seen = f"-n '__fish_seen_subcommand_from {command.name}'"
        for word in command.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in word.names)
            takes = f" -r{_fish_takes(word)}" if word.value else ""
            lines.append(f"complete -c incast {seen} {names}{takes} -d {_fish_quoted(word.help)}")
        if command.positionals and command.positionals[0].takes is not None:
            lines.append(f"complete -c incast {seen}{_fish_takes(command.positionals[0])}")
    return "\n".join(lines)


_FISH_TAKES = {FILES: " -F", FOLDERS: " -F", None: ""}


def _fish_takes(word: Word) -> str:
    if not isinstance(word.takes, tuple):
        return _FISH_TAKES[word.takes]
    return f" -a {_fish_quoted(' '.join(word.takes))}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SHELLS = {"bash": bash, "fish": fish, "zsh": zsh}
