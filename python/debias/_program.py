"""Finds the program `debias` and calls it."""

import functools
import importlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from typing import Any, Callable, Dict, List, Sequence, Union

Progress = Union[bool, Callable[[str], object]]

_INSTALL = ("install its wheel (in a checkout: make cli-wheel, then pip install dist/debias_learn_cli-*.whl), or name the program in the "
            "environment variable DEBIAS_PROGRAM")


class ProgramError(RuntimeError):
    """The program failed: `message` is its error message, `exit_code` its exit code.

    Exit codes: 1 failure, 2 usage or recipe, 3 data, 4 non-finite numbers, 5 memory or disk, 75 stopped with a checkpoint.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message, exit_code)
        self.message, self.exit_code = message, exit_code

    def __str__(self) -> str:
        return self.message


class ProgramNotFound(FileNotFoundError):
    """The program `debias` was not found on this machine."""


def _is_program(path: Union[str, "os.PathLike[str]"]) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _wheel() -> Any:
    """The module of the wheel debias-learn-cli, or None."""
    return importlib.import_module("debias_cli") if importlib.util.find_spec("debias_cli") is not None else None


def _environment(program: str) -> Dict[str, str]:
    """Environment variables of the program; that of the wheel must find the torch of this environment."""
    wheel = _wheel()
    if wheel is None or wheel.PROGRAM != program:
        return dict(os.environ)
    try:
        return dict(wheel.environment())
    except wheel.NoTorch as error:
        raise ProgramNotFound(f"debias-learn-cli: {error}") from None


@functools.lru_cache(maxsize=None)
def _require_ours(path: str) -> str:
    """`path`, if it is our program: other projects have commands of this name."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                              env=_environment(path))
    except OSError as error:
        raise ProgramNotFound(f"{path}: cannot be started ({error.strerror}); {_INSTALL}") from None
    if done.returncode != 0 or not re.match(r"debias \d+\.\d+", done.stdout):
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise ProgramNotFound(f"{path}: expected the program of debias-learn, which answers --version with 'debias <number>', found: {said[-1][:200]}; "
                              f"{_INSTALL}")
    return path


def path() -> str:
    """DEBIAS_PROGRAM, else the program of the wheel debias-learn-cli, else the one on PATH."""
    named = os.environ.get("DEBIAS_PROGRAM")
    if named:
        if not _is_program(named):
            raise ProgramNotFound(f"DEBIAS_PROGRAM: expected a program, found no executable file '{named}'; unset it or name another")
        return _require_ours(os.path.abspath(named))
    candidates = [getattr(_wheel(), "PROGRAM", ""), shutil.which("debias") or ""]
    for candidate in candidates:
        if _is_program(candidate):
            return _require_ours(candidate)
    raise ProgramNotFound(f"the program debias is not installed; {_INSTALL}")


def _shown(progress: Progress) -> Callable[[str], object]:
    if callable(progress):
        return progress
    return (lambda line: print(line, file=sys.stderr, flush=True)) if progress else (lambda line: None)


def _message(lines: Sequence[str], code: int) -> str:
    mistakes = [line.removeprefix("debias: ") for line in lines if line.startswith("debias: ")]
    own = ["\n".join(mistakes)] if mistakes else [line for line in lines if line.strip()]
    if code < 0:
        name = signal.Signals(-code).name if -code in list(signal.Signals) else str(-code)
        return f"the program was ended by signal {name}" + (f"; it said: {own[-1]}" if own else "")
    return own[-1] if own else f"the program ended with exit code {code} and said nothing"


def _stop(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    process.send_signal(number)
    try:
        process.stderr.read()
        process.wait()
    except KeyboardInterrupt:  # the second one: without a checkpoint
        process.send_signal(signal.SIGINT)
        process.wait()


def output_of(words: Sequence[str], progress: Progress = False) -> str:
    """Runs the program and returns its standard output. Progress lines go to `progress` while it runs. If `progress` is False, its warnings
    become Python warnings.

    An interrupt (Ctrl-C, a notebook's stop button) is passed on once, so that training leaves a checkpoint to resume from.
    """
    # In a session of its own: a terminal's Ctrl-C would reach it too, and the second signal ends it without a checkpoint.
    program = path()
    process = subprocess.Popen([program, *words], env=_environment(program), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               encoding="utf-8", errors="replace", start_new_session=True)
    written: List[str] = []
    reader = threading.Thread(target=lambda: written.append(process.stdout.read()), daemon=True)
    reader.start()
    show, lines = _shown(progress), []
    try:
        for line in process.stderr:
            lines.append(line.rstrip("\n"))
            if not lines[-1].startswith("debias: "):
                show(lines[-1])
        process.wait()
    except BaseException as error:
        _stop(process, signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM)
        raise
    finally:
        reader.join()
        process.stdout.close()
        process.stderr.close()
    if progress is False:
        for line in lines:
            if line.startswith("warning: "):
                warnings.warn(line.removeprefix("warning: "), stacklevel=3)
    if process.returncode != 0:
        raise ProgramError(_message(lines, process.returncode), process.returncode)
    return written[0]
