#!/usr/bin/env python3
"""tests/inject_faults.py [--short | --long] [--only CLASS] [--case PART] [--seed N] [--debias PATH]: faults, injected and survived?

Runs the command on recipes that train in a second, disturbs it in the eleven ways that docs/reliability.md names, and looks whether it ended as
promised: with the documented exit code, one line that says why, nothing lost, nothing half written, and the undisturbed run's bytes where
they are promised. --short (the default) takes two minutes on two cores, --long thirty. What a case draws by chance follows from the
seed, its class and its name, so that one case can be seen again alone; when a signal really arrives is up to the machine. A case that cannot be
tried here is counted as not tried, with the reason. The folder of a case that failed is kept. Exit 1 when any failed.
The program is --debias, else DEBIAS, else build/release/bin/debias; Linux, Python 3.11 or later, nothing else.
"""

import argparse
import concurrent.futures
import functools
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

from faults import data, escapes, kills, labels, ranks, shortage, starts, state, stops, streams
from faults import contention
from faults.command import Command, NotTried
from faults.runs import Place

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLASSES = {1: data, 2: labels, 3: stops, 4: streams, 5: starts, 6: state, 7: shortage, 8: escapes, 9: contention, 10: kills, 11: ranks}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--short", action="store_true", help="two minutes, the default")
    length.add_argument("--long", action="store_true", help="thirty minutes")
    parser.add_argument("--only", type=int, choices=CLASSES, metavar="CLASS", help="1 to 11")
    parser.add_argument("--case", default="", metavar="PART", help="only cases whose name has this in it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--debias", default=os.environ.get("DEBIAS") or str(ROOT / "build/release/bin/debias"), metavar="PATH")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="classes that run beside each other; of a single one, parts")
    parser.add_argument("--list", action="store_true", help="name the cases and run none")
    return parser.parse_args()


class Tally:
    def __init__(self):
        self.survived, self.failed, self.not_tried, self.seconds = 0, 0, 0, 0.0

    @property
    def tried(self):
        return self.survived + self.failed

    def add(self, other):
        for what, value in vars(other).items():
            setattr(self, what, getattr(self, what) + value)


def try_case(args, command, work, number, name, body, tally):
    folder = os.path.join(work, f"{number}-" + "".join(c if c.isalnum() or c in "-." else "_" for c in name))
    started = time.monotonic()
    outcome = ""
    try:
        body(Place(command, os.path.join(work, "shared"), folder), random.Random(f"{args.seed}/{number}/{name}"))
        tally.survived += 1
    except NotTried as reason:
        tally.not_tried += 1
        outcome = f"not tried: {number} {name}: {reason}"
    except Exception as reason:  # whatever a broken run makes of the checks is a failure, too
        tally.failed += 1
        again = f"python3 tests/inject_faults.py {'--long ' if args.long else ''}--seed {args.seed} --only {number} --case '{name}'"
        outcome = f"failed: {number} {name}: {' '.join(str(reason).split())}; again: {again}; kept: {folder}"
    finally:
        command.end_all()
    if not outcome.startswith("failed"):
        shutil.rmtree(folder, ignore_errors=True)
    if outcome:
        print(outcome, flush=True)
    tally.seconds += time.monotonic() - started


def run_part(args, part):
    """Every so-and-so-many-th case of a class, in a process and a folder of its own, so that parts may run beside each other."""
    number, first, step = part
    work = tempfile.mkdtemp(prefix="debias-faults-")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that mounts and processes are cleared away
    command, tally = Command(args.debias), Tally()
    try:
        for name, body in chosen_cases(args, number)[first::step]:
            try_case(args, command, work, number, name, body, tally)
    finally:
        command.end_all()
        shutil.rmtree(os.path.join(work, "shared"), ignore_errors=True)
        if not os.listdir(work):
            os.rmdir(work)
    return tally


def print_class(number, tally):
    print(f"{number:2} {CLASSES[number].TITLE:42} {tally.tried:4} tried {tally.survived:4} survived {tally.failed:4} failed "
          f"{tally.not_tried:4} not tried {tally.seconds:6.0f} s", flush=True)


def chosen_cases(args, number):
    return [(name, body) for name, body in CLASSES[number].cases(args.long) if args.case in name]


def main():
    args = arguments()
    numbers = [args.only] if args.only else sorted(CLASSES, key=lambda number: -len(chosen_cases(args, number)))
    if args.list:
        print("\n".join(f"{number:2} {name}" for number in sorted(numbers) for name, _ in chosen_cases(args, number)))
        return
    if not os.access(args.debias, os.X_OK):
        sys.exit(f"inject_faults: '{args.debias}' cannot be run; build it, or name the program with --debias or DEBIAS")
    started = time.monotonic()
    step = args.jobs if args.only else 1
    parts = [(number, first, step) for number in numbers for first in range(step)]
    tallies, total = {number: Tally() for number in numbers}, Tally()
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for (number, first, _), tally in zip(parts, pool.map(functools.partial(run_part, args), parts)):
            tallies[number].add(tally)
            if first == step - 1:
                print_class(number, tallies[number])
                total.add(tallies[number])
    print(f"seed {args.seed}: {total.tried} tried, {total.survived} survived, {total.failed} failed, {total.not_tried} not tried, "
          f"{time.monotonic() - started:.0f} s")
    sys.exit(1 if total.failed else 0)


if __name__ == "__main__":
    main()
