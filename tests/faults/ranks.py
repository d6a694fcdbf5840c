"""Class 11: one of four ranks is killed or stopped at a random moment; all end, and the run goes on to the undisturbed run's bytes."""

import os
import signal
import time

from .command import NotTried, STOPPED, RESOURCE, wait_until
from .runs import require_nothing_half_written, require_same_run

TITLE = "one rank of four killed or stopped"
RANKS, TRIES = 4, 4
WORDS = ("--ranks", RANKS, "train.checkpoint_every=0.1")


def ranks_of(process):
    """Their process numbers, by rank; {} while they are being started."""
    found = {}
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            children = file.read().split()
        for child in children:
            with open(f"/proc/{child}/environ", "rb") as file:
                variables = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
            found[int(variables[b"RANK"])] = int(child)
    except (OSError, KeyError, ValueError):
        return {}
    return found if len(found) == RANKS else {}


def disturb(place, words, run, rank, number, random):
    """The command's result where the signal came in time, else None."""
    process = place.command.start(words)
    wait_until(lambda: ranks_of(process), process, "four ranks")
    moment = random.choice(("start", "training", "evaluation"))
    sign = {"start": "", "training": "train.log", "evaluation": "metrics.jsonl"}[moment]
    wait_until(lambda: os.path.exists(os.path.join(run, sign)), process, sign or "the folder")
    time.sleep(random.uniform(0, 1.0))
    there = ranks_of(process)
    if there:
        try:
            os.kill(there[rank], number)
        except ProcessLookupError:
            there = {}
    result = place.command.finish(process)
    return result if there and result.exit != 0 else None


def disturbed(number, variant):
    def body(place, random):
        whole = place.whole(variant, *WORDS, name=f"whole-ranks-{variant}")
        for attempt in range(TRIES):
            run = place / f"run{attempt}"
            rank = random.randrange(RANKS)
            result = disturb(place, place.training(run, *WORDS, variant=variant), run, rank, number, random)
            if result is None:
                continue
            if number == signal.SIGKILL:
                result.expect(RESOURCE, part=f"rank {rank} of {RANKS} was ended by signal 9")
            else:
                result.expect(STOPPED)
            if os.path.exists(run):
                require_nothing_half_written(run, killed=True)
            place.run(*place.training(run, "--resume", *WORDS, variant=variant)).expect(0)
            require_same_run(run, whole)
            return
        raise NotTried(f"training had ended {TRIES} times before the signal")
    return body


def cases(long):
    variants = ("evaluated", "plain", "queue")
    for i in range(50 if long else 3):
        yield f"killed, {variants[i % 3]} {i + 1}", disturbed(signal.SIGKILL, variants[i % 3])
    for i in range(10 if long else 1):
        yield f"stopped, {variants[i % 3]} {i + 1}", disturbed(signal.SIGTERM, variants[i % 3])
