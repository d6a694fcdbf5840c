"""Running the command under limits and with streams of its own, and saying whether it ended as promised."""

import os
import re
import resource
import signal
import subprocess
import time
from dataclasses import dataclass

PATIENCE = 240  # seconds after which a command that should have ended is a failure
STOPPED, FAILURE, USAGE, DATA, NUMERIC, RESOURCE = 75, 1, 2, 3, 4, 5
NEVER = ("internal error", "terminate called", "Traceback", "what():", "Segmentation fault", "core dumped", "std::", "c10::")

# "debias: recipe.yaml:3: train: epochs: 0 is out of range; ...", "debias: command line: recipe: unknown section 'x'; ...".
PLACE = r"(?:[^:]+(?::\d+)?: )*"
NAMED = r"(?:unknown )?(?:data set|encoder|head|objective|classifier|optimizer|schedule|sampler|method|view [a-z]+) '[^']*'"
MISTAKE = re.compile(rf"debias: {PLACE}(?:recipe|data|views|train|evaluate|classifier|[a-z ]+: no name|{NAMED})[:;, ].*\S")


class Failed(Exception):
    """A promise was not kept."""


class NotTried(Exception):
    """The fault cannot be injected on this machine."""


def require(holds, message):
    if not holds:
        raise Failed(message)


def are_mistakes(reasons, lines, exit_code):
    """Whether they have the form of core/mistakes: nothing between them, none twice, each with the place and section that it is about."""
    return (exit_code == USAGE and lines[-len(reasons):] == reasons and len(set(reasons)) == len(reasons)
            and all(map(MISTAKE.match, reasons)))


def short(text):
    return repr(text[-300:])


@dataclass
class Result:
    words: list
    exit: int
    out: str
    err: str

    def expect(self, *exits, part=""):
        """One of these exit codes; other than 0, the last line, and no other, says why, with `part` in it. Several lines are several
        mistakes of a recipe (exit 2), each another, with its section."""
        said = f"`debias {' '.join(self.words)}`: exit {self.exit}, standard error {short(self.err)}"
        require(self.exit in exits, f"{said}; expected exit {' or '.join(map(str, exits))}")
        for text in NEVER:
            require(text not in self.err, f"{said}; '{text}' is never said")
        if self.exit == 0:
            return self
        lines = self.err.splitlines()
        require(lines and lines[-1].startswith("debias: "), f"{said}; the last line is to say why")
        reasons = [line for line in lines if line.startswith("debias: ")]
        require(len(reasons) == 1 or are_mistakes(reasons, lines, self.exit), f"{said}; one line is to say why")
        require(part in lines[-1], f"{said}; '{part}' is missing")
        return self


def limited(limits, processor, closed):
    """What a child does before it becomes the command."""
    def prepare():
        for number in (signal.SIGPIPE, signal.SIGHUP):  # Python ignores the one, nohup the other, and children would inherit that
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for what, value in limits.items():
            resource.setrlimit(what, (value, resource.getrlimit(what)[1] if what == resource.RLIMIT_STACK else value))
        if processor is not None:
            os.sched_setaffinity(0, {processor})
        for descriptor in closed:
            os.close(descriptor)
    return prepare


class Command:
    """`binary` and how it is started; every process that it starts is ended by `end_all`."""

    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.started = []

    def start(self, words, limits=None, processor=None, out=subprocess.PIPE, err=subprocess.PIPE, closed=(), env=None, cwd=None):
        words = [str(word) for word in words]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", **(env or {})}
        process = subprocess.Popen(
            [self.binary, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, cwd=cwd,
            preexec_fn=limited(limits or {}, processor, closed))
        process.words = words
        self.started = [p for p in self.started if p.poll() is None] + [process]
        return process

    def finish(self, process, patience=PATIENCE):
        try:
            out, err = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failed(f"`debias {' '.join(process.words)}` did not end within {patience} s") from None
        decode = lambda text: (text or b"").decode("utf-8", "replace")
        return Result(process.words, process.returncode, decode(out), decode(err))

    def run(self, *words, **how):
        return self.finish(self.start(words, **how))

    def end_all(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()


def wait_until(holds, process, what, patience=PATIENCE, pause=0.005):
    """True once it holds, False where the process ends before."""
    end = time.monotonic() + patience
    while not holds():
        if process.poll() is not None:
            return bool(holds())
        require(time.monotonic() < end, f"{what} did not happen within {patience} s")
        if pause:
            time.sleep(pause)
    return True
