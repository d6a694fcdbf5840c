"""Class 5: several starts in one folder at one moment."""

import os
import signal
import time

from .command import PATIENCE, STOPPED, USAGE, require, short
from .runs import require_nothing_half_written

TITLE = "simultaneous starts"
LONG = ("train.epochs=100000",)  # until it is stopped


def one_of_three(how):
    """Two are refused while the third trains; it then stops with a whole checkpoint."""
    def body(place, random):
        run = place / "run"
        if how:
            first = place.command.start(place.training(run, *LONG))
            end = time.monotonic() + PATIENCE
            while not os.path.exists(os.path.join(run, "config.yaml")):
                require(time.monotonic() < end, "the first start made no run")
                time.sleep(0.01)
            first.kill()
            first.wait()
        processes = [place.command.start(place.training(run, *LONG, *how)) for _ in range(3)]
        end = time.monotonic() + PATIENCE
        while sum(p.poll() is None for p in processes) > 1 and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.3))
        training = [p for p in processes if p.poll() is None]
        require(len(training) == 1, f"{len(training)} of three starts are training; exits {[p.poll() for p in processes]}")
        log = os.path.join(run, "train.log")
        end = time.monotonic() + PATIENCE
        while not os.path.exists(log) and time.monotonic() < end:
            time.sleep(0.01)
        training[0].send_signal(signal.SIGTERM)
        for process in processes:
            result = place.command.finish(process)
            if process is training[0]:
                result.expect(STOPPED)
            else:
                result.expect(USAGE, part="output '")
        require_nothing_half_written(run)
    return body


def joins_a_run(how):
    """A second start where a run is under way for long changes nothing of it."""
    def body(place, random):
        run = place / "run"
        process = place.command.start(place.training(run, *LONG))
        end = time.monotonic() + PATIENCE
        while not os.path.exists(os.path.join(run, "metrics.jsonl")) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        config = os.stat(os.path.join(run, "config.yaml"))
        place.run(*place.training(run, *LONG, *how)).expect(USAGE, part="in use by another training process" if how else "output '")
        require(process.poll() is None, "the first training ended")
        now = os.stat(os.path.join(run, "config.yaml"))
        require((config.st_ino, config.st_mtime_ns) == (now.st_ino, now.st_mtime_ns), "config.yaml was written anew")
        process.send_signal(signal.SIGTERM)
        result = place.command.finish(process)
        require(result.exit == STOPPED, f"exit {result.exit}: {short(result.err)}")
        require_nothing_half_written(run)
    return body


def cases(long):
    ways = {"fresh": (), "--resume": ("--resume",), "--overwrite": ("--overwrite",)}
    for i in range(1, 34 if long else 3):
        for name, how in ways.items():
            if long or i == 1 or name == "--overwrite":
                yield f"three at once: {name} {i}", one_of_three(how)
    for name, how in ways.items():
        yield f"beside a run: {name}", joins_a_run(how)
