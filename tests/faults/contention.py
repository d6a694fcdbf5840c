"""Class 9: four busy neighbours on the one processor that the command may use."""

import contextlib
import os
import signal
import subprocess
import sys
import time

from .command import require, wait_until
from .runs import checkpoint, require_nothing_half_written, require_same_run
from .stops import begun, stopped

TITLE = "four busy neighbours"
MORE = ("train.epochs=4",)
NEIGHBOURS = 4


@contextlib.contextmanager
def neighbours():
    """On one processor, so that a machine of several is no less busy and others keep the rest."""
    processor = min(os.sched_getaffinity(0))
    busy = [subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{processor}}})\nwhile os.getppid() == "
                              f"{os.getpid()}:\n for _ in range(1000000): pass"]) for _ in range(NEIGHBOURS)]
    try:
        yield processor
    finally:
        for process in busy:
            process.kill()
            process.wait()


def whole(place, variant):
    return place.whole(variant, *MORE, name=f"whole-{variant}-busy")


def undisturbed(variant):
    def body(place, random):
        run = place / "run"
        with neighbours() as processor:
            place.run(*place.training(run, *MORE, variant=variant), processor=processor).expect(0)
        require_same_run(run, whole(place, variant))
    return body


def stop(number, moment):
    """A stop signal leads to a checkpoint within five seconds, and the rest to the same bytes."""
    def body(place, random):
        variant = "evaluated" if moment == "evaluation" else "plain"
        for attempt in range(3):
            run = place / f"run{attempt}"
            with neighbours() as processor:
                if not stopped(place, place.training(run, *MORE, variant=variant), number, moment, run, random, processor=processor):
                    continue
            place.require_finishes(run, variant, whole(place, variant), MORE)
            return
        require(False, "the signal came too late three times")
    return body


def killed(place, random):
    run = place / "run"
    with neighbours() as processor:
        process = place.command.start(place.training(run, *MORE), processor=processor)
        condition, delay = begun("training", run, random)
        wait_until(condition, process, "the training")
        time.sleep(4 * delay)
        process.kill()
        process.communicate()
    require_nothing_half_written(run, killed=True)
    place.require_finishes(run, "plain", whole(place, "plain"), MORE)


def written_at(path):
    """None between its renaming to `previous` and that of the next one to `last`."""
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return None


def checkpoints_keep_coming(place, random):
    """With checkpoint_every: 1, no more than five seconds pass without one."""
    run = place / "run"
    with neighbours() as processor:
        words = place.training(run, "train.epochs=100000", "train.checkpoint_every=1", "train.batch_size=96", "data.train.train_count=9600")
        process = place.command.start(words, processor=processor)
        last = checkpoint(run)
        wait_until(lambda: os.path.exists(last), process, "the first checkpoint")
        for _ in range(3):
            before, seen = written_at(last), time.monotonic()
            wait_until(lambda: written_at(last) not in (None, before), process, "another checkpoint")
            require(time.monotonic() - seen <= 5, f"{time.monotonic() - seen:.1f} s without a checkpoint")
        process.send_signal(signal.SIGTERM)
        place.command.finish(process).expect(75)
    require_nothing_half_written(run)


def cases(long):
    for i in range(1, 5 if long else 2):
        for variant in ("plain", "evaluated", "queue", "labelled") if long else ("queue",):
            yield f"undisturbed: {variant} {i}", undisturbed(variant)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU) if long else (signal.SIGTERM,):
            for moment in ("start", "training", "evaluation") if long else ("training",):
                yield f"{number.name} in {moment} {i}", stop(number, moment)
        yield f"killed {i}", killed
        yield f"checkpoints keep coming {i}", checkpoints_keep_coming
