"""Class 3: stop signals, at every moment of a training."""

import os
import signal
import time

from .command import STOPPED, require, short, wait_until
from .runs import require_nothing_half_written

TITLE = "stop signals"
SIGNALS = {s.name: s for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU, signal.SIGUSR1)}
PROMISED = 5  # seconds
MAP = ("evaluate.tsne.iterations=4000", "evaluate.tsne.samples=90")  # long enough to be met in the middle


def begun(moment, run, random):
    """(condition, delay): when the signal is sent."""
    if moment == "start":
        return lambda: os.path.exists(os.path.join(run, ".lock")), random.uniform(0, 0.05)
    if moment == "training":
        return lambda: os.path.exists(os.path.join(run, "train.log")), random.uniform(0.02, 0.4)
    return lambda: os.path.exists(os.path.join(run, "evaluation/knn.json")), random.uniform(0, 0.2)


def stopped(place, words, number, moment, run, random, **how):
    """The training is stopped, in time and with the right code; False where it had ended before."""
    process = place.command.start(words, **how)
    condition, delay = begun(moment, run, random)
    there = wait_until(condition, process, f"the {moment} of {run}")
    if there:
        time.sleep(delay)
    sent = time.monotonic()
    process.send_signal(number)
    result = place.command.finish(process)
    if result.exit == 0 and "epochs in" in result.out:
        return False
    result.expect(STOPPED)
    require(time.monotonic() - sent <= PROMISED, f"{signal.Signals(number).name} was obeyed after {time.monotonic() - sent:.1f} s only")
    require("continue with --resume" in result.err or "--resume" in result.err, f"how to go on is not said: {short(result.err)}")
    require_nothing_half_written(run, killed=True)  # who stops at once leaves temporaries to the next start
    return True


def in_training(number, moment):
    def body(place, random):
        variant, more = ("evaluated", MAP) if moment == "evaluation" else ("plain", ("train.epochs=6",))
        whole = place.whole(variant, *more, name=f"whole-{variant}-stops")
        for attempt in range(3):
            run = place / f"run{attempt}"
            if stopped(place, place.training(run, *more, variant=variant), number, moment, run, random):
                place.require_finishes(run, variant, whole, more)
                return
        require(False, f"{signal.Signals(number).name} came too late three times")
    return body


def twice(place, random):
    """The second signal ends the program at once, whatever the first waits for; the run goes on from what is on disk."""
    more = ("train.epochs=6",)
    run = place / "run"
    process = place.command.start(place.training(run, *more))
    wait_until(lambda: os.path.exists(os.path.join(run, "train.log")), process, "the training")
    time.sleep(random.uniform(0.05, 0.3))
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    result = place.command.finish(process)
    require(result.exit in (0, STOPPED, 128 + signal.SIGTERM, 128 + signal.SIGINT), f"exit {result.exit}: {short(result.err)}")
    place.require_finishes(run, "plain", place.whole("plain", *more, name="whole-plain-stops"), more)


def in_a_verb(verb):
    """Verbs that write one result end by the signal and leave no half of it."""
    def body(place, random):
        whole = place.whole("evaluated")
        out = place / "e.npy"
        words = {"tsne": ["eval", "tsne", whole, "tsne.iterations=20000", "tsne.samples=90"],
                 "embed": ["embed", whole, "--out", out, "--data", "glyphs", "size=16", "split=train", "train_count=60000"]}[verb]
        process = place.command.start(words)
        time.sleep(random.uniform(0.4, 0.9))
        ended = process.poll() is not None
        sent = time.monotonic()
        process.send_signal(signal.SIGTERM)
        result = place.command.finish(process)
        require(not ended, f"{verb} had ended before the signal: exit {result.exit}, {short(result.err)}")
        require(result.exit in (STOPPED, -signal.SIGTERM, 128 + signal.SIGTERM), f"exit {result.exit}: {short(result.err)}")
        require(time.monotonic() - sent <= PROMISED, "the signal was obeyed late")
        require(not os.path.exists(out), "half a result was left")
        require_nothing_half_written(whole)
    return body


def cases(long):
    repeats = range(1, 7) if long else (1,)
    for i in repeats:
        for name, number in SIGNALS.items():
            moments = ("start", "training", "evaluation") if long else {"SIGTERM": ("start", "training", "evaluation"), "SIGHUP": (
                "training",), "SIGXCPU": ("evaluation",)}.get(name, ("start",))
            for moment in moments:
                yield f"{name} in {moment} {i}", in_training(number, moment)
        yield f"two signals {i}", twice
    for verb in ("tsne", "embed"):
        yield f"SIGTERM in {verb}", in_a_verb(verb)
