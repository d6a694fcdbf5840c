"""How the program is found and called, shown with small programs in its place: progress, warnings, errors, interrupts."""

import os
import pickle
import signal
import sys
import time

import pytest

import debias
from debias import _program

VERSION = '[ "$1" = --version ] && { echo "debias 9.9.9"; exit; }\n'


@pytest.fixture
def program(tmp_path, monkeypatch):
    def write(body, name="debias", version=VERSION):
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{version}{body}\n")
        file.chmod(0o755)
        monkeypatch.setenv("DEBIAS_PROGRAM", str(file))
        _program._require_ours.cache_clear()
        return file
    return write


def test_lines_come_while_the_program_runs(program, tmp_path):
    go = tmp_path / "go"
    program(f'echo first >&2; while [ ! -e "{go}" ]; do sleep 0.05; done; echo second >&2; echo result')
    seen = []

    def show(line):
        seen.append((line, go.exists()))
        go.touch()

    assert _program.output_of(["x"], show) == "result\n" and seen == [("first", False), ("second", True)]


def test_progress_goes_to_standard_error(program, capsys):
    program('echo "epoch 1/2" >&2; echo "{}"')
    assert _program.output_of(["x"], True) == "{}\n" and capsys.readouterr().err == "epoch 1/2\n"


def test_warnings_are_warnings_where_progress_is_not_shown(program):
    program('echo "warning: ten files are damaged" >&2')
    with pytest.warns(UserWarning, match="^ten files are damaged$"):
        _program.output_of(["x"])


def test_much_output_on_both_sides_is_read(program):
    program('i=0; while [ $i -lt 3000 ]; do echo "a long line of progress, number $i, and more of it" >&2; echo "the same of the result, number $i"; i=$((i+1)); done')
    lines = []
    assert len(_program.output_of(["x"], lines.append).splitlines()) == len(lines) == 3000


@pytest.mark.parametrize("body, code, words", [
    ('echo "epoch 1" >&2; echo "debias: recipe: seed: expected an integer, found a" >&2; exit 2', 2, "recipe: seed: expected an integer, found a"),
    ("exit 3", 3, "the program ended with exit code 3 and said nothing"),
    ("kill -KILL $$", -9, "the program was ended by signal SIGKILL"),
    ('echo "./debias: error while loading shared libraries: libc10.so" >&2; exit 127', 127, "error while loading shared libraries: libc10.so")])
def test_an_error_has_the_programs_line_and_exit_code(program, body, code, words):
    program(body)
    with pytest.raises(debias.ProgramError, match=words) as caught:
        _program.output_of(["x"], False)
    assert caught.value.exit_code == code and "\n" not in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.exit_code) == (str(caught.value), code)


def test_all_mistakes_are_reported(program):
    program('echo "debias: seed: expected an integer" >&2; echo "debias: train: unknown option" >&2; exit 2')
    with pytest.raises(debias.ProgramError, match="seed: expected an integer\ntrain: unknown option"):
        _program.output_of(["x"], False)


@pytest.fixture
def interrupts():
    """Those of a process in the background are ignored, by its children too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_is_passed_on_once_and_waited_for(interrupts, program, tmp_path):
    done = tmp_path / "done"
    program(f'trap "sleep 0.3; echo stopped >>{done}; exit 75" INT; echo started >&2; while :; do sleep 0.05; done')

    def show(line):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        _program.output_of(["x"], show)
    assert done.read_text() == "stopped\n"


def test_a_program_on_the_path_is_found(program, monkeypatch, tmp_path):
    file = program("echo found")
    monkeypatch.delenv("DEBIAS_PROGRAM")
    monkeypatch.setattr(_program, "_wheel", lambda: None)
    monkeypatch.setenv("PATH", f"{file.parent}{os.pathsep}{os.environ['PATH']}")
    assert _program.path() == str(file) and _program.output_of(["x"]) == "found\n"


def test_the_program_of_the_wheel_goes_before_the_path(program, monkeypatch, tmp_path):
    on_path = program("echo path")
    wheel = tmp_path / "site" / "debias_cli"
    (wheel / "bin").mkdir(parents=True)
    (wheel / "__init__.py").write_text("import os, pathlib\nPROGRAM = str(pathlib.Path(__file__).parent / 'bin' / 'debias')\n"
                                       "class NoTorch(RuntimeError):\n    pass\n"
                                       "def environment():\n    if 'NO_TORCH' in os.environ:\n        raise NoTorch('found no torch')\n"
                                       "    return {**os.environ, 'WHERE': 'wheel'}\n")
    (wheel / "bin" / "debias").write_text(f"#!/bin/sh\n{VERSION}echo $WHERE\n")
    (wheel / "bin" / "debias").chmod(0o755)
    monkeypatch.delenv("DEBIAS_PROGRAM")
    monkeypatch.setenv("PATH", f"{on_path.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.syspath_prepend(str(wheel.parent))
    monkeypatch.delitem(sys.modules, "debias_cli", raising=False)
    assert _program.output_of(["x"]) == "wheel\n"
    monkeypatch.setenv("NO_TORCH", "1")
    with pytest.raises(debias.ProgramNotFound, match="^debias-learn-cli: found no torch$"):
        _program.output_of(["x"])


def test_what_is_no_program_of_ours_is_refused(program, monkeypatch, tmp_path):
    program("true", version='echo "usage: debias FILE"; exit 1\n')
    with pytest.raises(debias.ProgramNotFound, match="expected the program of debias-learn, .*found: usage: debias FILE; install its wheel"):
        _program.path()
    monkeypatch.setenv("DEBIAS_PROGRAM", str(tmp_path / "none"))
    with pytest.raises(debias.ProgramNotFound, match="DEBIAS_PROGRAM: expected a program, found no executable file"):
        _program.path()
    monkeypatch.delenv("DEBIAS_PROGRAM")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_program, "_wheel", lambda: None)
    with pytest.raises(debias.ProgramNotFound, match="the program debias is not installed; install its wheel"):
        debias.train("demo/infonce")
