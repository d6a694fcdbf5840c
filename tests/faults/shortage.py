"""Class 7: numbers, memory, stack or room on a disk run out, and files hold numbers that no program wrote: never an internal error."""

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import time

from .command import DATA, NUMERIC, RESOURCE, STOPPED, USAGE, NotTried, require, short, wait_until
from .runs import read, require_nothing_half_written, write

TITLE = "numbers, memory, stack and disk run out"
NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")
BAD_NUMBERS = ("1e999", "-1e999", "1e300", "-1", "0.5", "9223372036854775807", "18446744073709551616", '"x"', "null", "[]", "{}", "", "NaN")


@contextlib.contextmanager
def small_disk(path, size):
    """A file system of `size` bytes at `path`."""
    os.makedirs(path)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise NotTried(f"no file system can be mounted here ({made.stderr.strip()})")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=False)


def enlarge(path):
    subprocess.run(["mount", "-o", "remount,size=64m", path], check=True)


def huge(words, *exits):
    def body(place, random):
        run = place / "run"
        place.run(*place.training(run, *words)).expect(*exits)
        if os.path.exists(run):
            require_nothing_half_written(run)
    return body


def edited_number(pattern):
    """One number of a file that the report reads is another, or none."""
    def body(place, random):
        run = place / "run"
        shutil.copytree(place.whole("evaluated"), run)
        path = os.path.join(run, pattern)
        text = read(path)
        found = random.choice(list(NUMBER.finditer(text)))
        bad = random.choice(BAD_NUMBERS)
        write(text[:found.start()] + bad.encode() + text[found.end():], path)
        for words in (["report", run, "--json"], ["report", run, "--out", place / "r.html"]):
            place.run(*words).expect(0, DATA)
    return body


def memory(megabytes):
    def body(place, random):
        run = place / "run"
        result = place.run(*place.training(run), limits={resource.RLIMIT_AS: megabytes << 20})
        if result.exit == 127 and "error while loading shared libraries" in result.err:
            require(megabytes < 400, f"the loader could not start the program with {megabytes} MB: {short(result.err)}")
            return
        result.expect(0, RESOURCE)
        if result.exit == 0 or os.path.exists(os.path.join(run, "config.yaml")):
            place.require_finishes(run)
    return body


def stack(kilobytes, threads):
    """Without `kilobytes`, the stack as it is: whether another stack makes the difference."""
    def body(place, random):
        run = place / "run"
        words = place.training(run, f"train.threads={threads}", "train.workers=2", "train.epochs=1")
        place.run(*words, limits={resource.RLIMIT_STACK: kilobytes << 10} if kilobytes else {}).expect(0)
        require_nothing_half_written(run)
    return body


def full_disk(size):
    """A disk of `size` bytes: it says what is needed, and with more room the run ends with the undisturbed run's bytes."""
    def body(place, random):
        disk = place / "disk"
        with small_disk(disk, size):
            run = os.path.join(disk, "run")
            result = place.run(*place.training(run)).expect(0, RESOURCE)
            if result.exit == RESOURCE:
                require(re.search(r"\d+ bytes are needed, \d+ are free", result.err), f"need and room are not said: {short(result.err)}")
            enlarge(disk)
            place.require_finishes(run)
    return body


def full_disk_waited_for(then):
    def body(place, random):
        disk = place / "disk"
        with small_disk(disk, random.randrange(2300, 4000) << 10):
            run = os.path.join(disk, "run")
            process = place.command.start(place.training(run, "train.on_full_disk=wait"))
            log = os.path.join(run, "train.log")
            there = wait_until(lambda: os.path.exists(log) and b"waiting for space" in read(log), process, "waiting for space")
            require(there, "it did not wait")
            if then == "stop":
                sent = time.monotonic()
                process.send_signal(signal.SIGTERM)
                place.command.finish(process).expect(STOPPED)
                require(time.monotonic() - sent < 5, "the signal was obeyed late")
                enlarge(disk)
            else:
                enlarge(disk)
                place.command.finish(process).expect(0)
            place.require_finishes(run)
    return body


def full_disk_of_a_verb(verb):
    """A result that does not fit is exit 5, and no half of it stays."""
    def body(place, random):
        whole = place.whole("evaluated")
        disk = place / "disk"
        with small_disk(disk, 8 << 10):
            words = {"embed": ["embed", whole, "--out", f"{disk}/e.npy"], "report": ["report", whole, "--out", f"{disk}/r.html"],
                     "export": ["export", whole, "--out", f"{disk}/x"],
                     "data export": ["data", "export", "glyphs", "size=16", "train_count=400", "--out", f"{disk}/x.npy"]}[verb]
            place.run(*words).expect(RESOURCE)
            left = [name for _, _, names in os.walk(disk) for name in names if os.path.splitext(name)[1] != ".csv"]
            require(not left, f"{left} stayed")
    return body


def cases(long):
    for name in ("adam", "sgd", "adamw", "lars") if long else ("adam", "sgd"):
        for key in ("learning_rate", "weight_decay"):
            yield f"{name}: {key} 1e300", huge([f"optimizer={{name: {name}, {key}: 1e300}}"], NUMERIC)
            for value in ("1e38", "3.5e38", "1e30", "1e10") if long else ("1e38",):
                yield f"{name}: {key} {value}", huge([f"optimizer={{name: {name}, {key}: {value}}}"], 0, NUMERIC)
            for value in ("inf", "nan", "-1", "1e999"):
                if long or (name == "adam" and key == "learning_rate"):
                    yield f"{name}: {key} {value}", huge([f"optimizer={{name: {name}, {key}: {value}}}"], USAGE)
    for value in ("1e300", "1e38"):
        yield f"classifier: learning_rate {value}", huge([f"classifier={{name: linear, learning_rate: {value}}}"], 0, NUMERIC)
    for pattern in ("metrics.jsonl", "evaluation/knn.json", "evaluation/tsne.json", "environment.json"):
        for i in range(1, 41 if long else 2):
            yield f"{pattern}: one number {i}", edited_number(pattern)
    for megabytes in range(250, 1001, 25) if long else (300, 400, 450, 500, 700):
        yield f"{megabytes} MB of address space", memory(megabytes)
    for i in range(1, 21 if long else 3):
        for kilobytes, threads in ((64, 1), (64, 3)) if not long else ((64, 1), (64, 3), (256, 1), (512, 2)):
            yield f"stack of {kilobytes} KB, {threads} threads {i}", stack(kilobytes, threads)
    yield "stack as it is, 3 threads", stack(None, 3)
    for kilobytes in (4, 64, 256, 1024, 2100, 2200, 2400, 3000, 4096, 4300, 4400, 5000, 6000, 6600) if long else (64, 1024, 2400, 4300):
        yield f"disk of {kilobytes} KB", full_disk(kilobytes << 10)
    yield "full disk, waited for, stopped", full_disk_waited_for("stop")
    if long:
        yield "full disk, waited for, room", full_disk_waited_for("room")
    for verb in ("embed", "report", "export", "data export") if long else ("embed", "report"):
        yield f"full disk: {verb}", full_disk_of_a_verb(verb)
