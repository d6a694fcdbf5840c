"""Class 4: standard streams that are full, closed, or pipes that nobody reads."""

import os
import signal
import subprocess

from .command import FAILURE, USAGE, require, short
from .runs import require_same_run

TITLE = "logs and results that cannot be written"
KINDS = ("full", "closed", "unread")
UNREAD = 128 + signal.SIGPIPE


def run_with(place, words, out=None, err=None, closed_too=()):
    """The command with these streams; what it could say, in a Result."""
    opened, closed, streams = [], list(closed_too), {}
    for name, kind, descriptor in (("out", out, 1), ("err", err, 2)):
        if kind == "full":
            streams[name] = os.open("/dev/full", os.O_WRONLY)
            opened.append(streams[name])
        elif kind == "unread":
            reader, streams[name] = os.pipe()
            os.close(reader)
            opened.append(streams[name])
        else:
            streams[name] = subprocess.PIPE
            if kind == "closed":
                closed.append(descriptor)
    try:
        process = place.command.start(words, closed=closed, **streams)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return place.command.finish(process)


def messages_lost(kind):
    def body(place, random):
        run = place / "run"
        result = run_with(place, place.training(run, variant="evaluated"), err=kind)
        require(result.exit == 0, f"standard error {kind}: exit {result.exit}, {short(result.out)}")
        require("epochs in" in result.out, f"standard error {kind}: standard output is not whole: {short(result.out)}")
        require_same_run(run, place.whole("evaluated"))
    return body


def all_closed(place, random):
    run = place / "run"
    result = run_with(place, place.training(run), out="closed", err="closed", closed_too=(0,))
    require(result.exit == FAILURE, f"exit {result.exit}; 1 was expected, as the result is lost")
    require_same_run(run, place.whole())


def expect_loss(result, kind):
    """A failure with one line; silence where the reader wants no more, as of programs that SIGPIPE ends."""
    if kind == "unread":
        require(result.exit in (UNREAD, -signal.SIGPIPE), f"exit {result.exit}; {UNREAD} was expected")
        require("debias: " not in result.err, f"it complains: {short(result.err)}")
    else:
        result.expect(FAILURE, part="writing to standard output failed")


def results_lost(kind, name, words):
    def body(place, random):
        expect_loss(run_with(place, [word if not callable(word) else word(place) for word in words], out=kind), kind)
    return body


def training_result_lost(kind):
    def body(place, random):
        run = place / "run"
        expect_loss(run_with(place, place.training(run), out=kind), kind)
        require_same_run(run, place.whole())
    return body


def usage_error_unheard(kind):
    def body(place, random):
        result = run_with(place, ["list", "nothing"], err=kind)
        require(result.exit == USAGE, f"exit {result.exit}; 2 was expected")
    return body


def evaluated(place):
    return place.whole("evaluated")


def verbs():
    recipe = lambda place: place.recipe
    return {
        "dry-run": ["train", recipe, "output=nowhere", "--dry-run"],
        "dry-run json": ["train", recipe, "output=nowhere", "--dry-run", "--json"],
        "report text": ["report", evaluated, "--text"],
        "report json": ["report", evaluated, "--json"],
        "report": ["report", evaluated, "--out", lambda place: place / "r.html"],
        "eval": ["eval", "knn", evaluated],
        "eval json": ["eval", "knn", evaluated, "--json"],
        "embed": ["embed", evaluated, "--out", lambda place: place / "e.npy"],
        "export": ["export", evaluated, "--out", lambda place: place / "exported"],
        "data list": ["data", "list"],
        "data check": ["data", "check", "glyphs", "size=16", "train_count=20"],
        "data export": ["data", "export", "glyphs", "size=16", "train_count=20", "--out", lambda place: place / "x.npy"],
        "checkpoint show": ["checkpoint", "show", evaluated],
        "checkpoint show recipe": ["checkpoint", "show", evaluated, "--recipe"],
        "checkpoint verify": ["checkpoint", "verify", evaluated],
        "list objectives": ["list", "objectives"],
        "views show": ["views", "show", "sim32", "--out", lambda place: place / "v.png", "--rows", "1"],
        "help": ["--help"],
        "version": ["--version"],
    }


def cases(long):
    for kind in KINDS:
        yield f"messages: standard error {kind}", messages_lost(kind)
        yield f"usage error: standard error {kind}", usage_error_unheard(kind)
        yield f"training's result: standard output {kind}", training_result_lost(kind)
        for name, words in verbs().items():
            if long or (kind == "full" and name in ("dry-run", "report text", "eval json", "data list", "checkpoint show", "help")):
                yield f"{name}: standard output {kind}", results_lost(kind, name, words)
    yield "all descriptors closed", all_closed
