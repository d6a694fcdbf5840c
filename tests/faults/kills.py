"""Class 10: SIGKILL at random moments; the run goes on and ends with the undisturbed run's bytes."""

import os
import time

from .command import NotTried, wait_until
from .runs import require_nothing_half_written

TITLE = "kills at random moments"
MOMENTS = ("start", "training", "checkpoint", "evaluation", "resumption")
TRIES = 4


def writes_a_checkpoint(run):
    """A temporary of the checkpoint lies there this very moment."""
    try:
        return any(".tmp-" in name or name.startswith("next.") for name in os.listdir(os.path.join(run, "checkpoints")))
    except FileNotFoundError:
        return False


def moment_comes(moment, run, process, random):
    """Waits for it; False where the process ended before."""
    if moment == "start":
        time.sleep(random.uniform(0, 0.5))
        return True
    if moment == "checkpoint":
        for _ in range(random.randrange(1, 4)):  # which of them
            if not wait_until(lambda: writes_a_checkpoint(run), process, "a checkpoint", pause=0):
                return False
            delay = random.uniform(0, 0.004)
            time.sleep(delay)
            if random.random() < 0.5:
                break
            wait_until(lambda: not writes_a_checkpoint(run), process, "the checkpoint's end", pause=0)
        return True
    sign = {"training": "train.log", "evaluation": "evaluation/knn.json"}[moment]
    there = wait_until(lambda: os.path.exists(os.path.join(run, sign)), process, f"{sign}")
    time.sleep(random.uniform(0, 0.8 if moment == "training" else 0.15))
    return there


def kill_once(place, words, moment, run, random):
    """True when the process was killed, and not done before."""
    process = place.command.start(words)
    came = moment_comes(moment, run, process, random)
    process.kill()
    process.communicate()
    return came and process.returncode == -9


def killed(moment, variant):
    def body(place, random):
        for attempt in range(TRIES):
            run = place / f"run{attempt}"
            first = random.choice(("training", "checkpoint")) if moment == "resumption" else moment
            if not kill_once(place, place.training(run, variant=variant), first, run, random):
                continue
            if os.path.exists(run):
                require_nothing_half_written(run, killed=True)
            if moment == "resumption":
                again = random.choice(("start", "checkpoint") if random.random() < 0.8 else ("evaluation",))
                kill_once(place, place.training(run, "--resume", variant=variant), again, run, random)
                require_nothing_half_written(run, killed=True)
            place.require_finishes(run, variant)
            return
        raise NotTried(f"training had ended {TRIES} times before the kill")
    return body


def cases(long):
    variants = ("evaluated", "queue", "labelled")
    for i in range(200 if long else 10):
        moment = MOMENTS[i % len(MOMENTS)]
        variant = variants[(i // len(MOMENTS)) % len(variants)]
        yield f"{moment}, {variant} {i + 1}", killed(moment, variant)
