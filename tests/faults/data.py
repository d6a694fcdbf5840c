"""Class 1: data that change between a run and its resume, its evaluation or its embedding."""

import os
import shutil

from .command import DATA, USAGE
from .runs import checkpoint, pictures, png, read, require_same_run, require_untouched, snapshot, write
from .command import require

TITLE = "data changed"
GROUPS = ("cat", "dog")


def labels_of(groups, each=6):
    rows = [f"{g}/{i}.png,{g},{('red', 'blue')[i % 2]}" for g in groups for i in range(each)]
    return "path,label,bias\n" + "\n".join(rows) + "\n"


def made(path, command, training, random, verify):
    """Pictures and labels in `path`/p, and in `path`/run a run on them that is still to make its last epoch; `path`/whole made it."""
    root, run = os.path.join(path, "p"), os.path.join(path, "run")
    for part in ("train", "test"):
        pictures(os.path.join(root, part), random)
        write(labels_of(GROUPS), root, part + ".csv")
    section = lambda part: f"data.{part}={{name: image_folder, root: {root}/{part}, labels: {root}/{part}.csv}}"
    words = [section("train"), section("test"), f"data.verify={verify}", "evaluate={every: 2, protocols: [knn], knn: {k: 3}}",
             "train.batch_size=6", "train.epochs=2", "objective={name: infonce}"]
    command.run(*training(run, *words)).expect(0)
    shutil.copytree(run, os.path.join(path, "whole"))
    os.replace(checkpoint(run, "previous"), checkpoint(run))


def trained(place, random, verify="listing"):
    """The pictures and the run, as they were made: the run knows them by their path, so all cases share it."""
    path = place.once(f"pictures-{verify}", lambda path: made(path, place.command, place.training, random, verify))
    kept = path + "-kept"
    if os.path.exists(kept):
        shutil.rmtree(path)
        shutil.copytree(kept, path)
    else:
        shutil.copytree(path, kept)
    return os.path.join(path, "p"), os.path.join(path, "run")


def edited_label(path, random):
    text = read(path + ".csv").decode()
    group, i = random.choice(GROUPS), random.randrange(6)
    write(text.replace(f"{group}/{i}.png,{group}", f"{group}/{i}.png,{GROUPS[group == 'cat']}"), path + ".csv")
    return f"{group}/{i}.png"


def edited_bias(path, random):
    text = read(path + ".csv").decode()
    group, i = random.choice(GROUPS), random.randrange(6)
    line = f"{group}/{i}.png,{group},"
    colours = ("red", "blue")
    write(text.replace(line + colours[i % 2], line + colours[1 - i % 2]), path + ".csv")
    return f"{group}/{i}.png"


def one(path, random):
    name = f"{random.choice(GROUPS)}/{random.randrange(6)}.png"
    return name, os.path.join(path, name)


def swapped(path, random):
    i = random.randrange(6)
    a, b = (os.path.join(path, group, f"{i}.png") for group in GROUPS)
    os.rename(a, a + ".kept")
    os.rename(b, a)
    os.rename(a + ".kept", b)
    return f"/{i}.png"


def added(path, random):
    group = random.choice(GROUPS)
    png(os.path.join(path, group, "9.png"), random)
    write(read(path + ".csv") + f"{group}/9.png,{group},red\n".encode(), path + ".csv")
    return f"{group}/9.png"


def removed(path, random):
    name, file = one(path, random)
    os.remove(file)
    lines = [line for line in read(path + ".csv").decode().splitlines() if not line.startswith(name)]
    write("\n".join(lines) + "\n", path + ".csv")
    return name


def truncated(path, random):
    name, file = one(path, random)
    os.truncate(file, random.randrange(1, os.path.getsize(file)))
    return name


def rewritten(path, random):
    name, file = one(path, random)
    content = bytearray(read(file))
    content[-20] ^= 1
    write(bytes(content), file)
    os.utime(file, (1e9, 1e9))
    return name


def renamed_class(path, random):
    os.rename(os.path.join(path, "cat"), os.path.join(path, "lynx"))
    write(read(path + ".csv").replace(b"cat", b"lynx"), path + ".csv")
    return ""


def swapped_classes(path, random):
    """All labels the other way round: counts and names stay."""
    text = read(path + ".csv").replace(b",cat,", b",?,").replace(b",dog,", b",cat,").replace(b",?,", b",dog,")
    write(text, path + ".csv")
    return "/0.png"


CHANGES = {f.__name__.replace("_", " "): f for f in
           (edited_label, edited_bias, swapped, added, removed, truncated, rewritten, renamed_class, swapped_classes)}


def verb_words(verb, place, run):
    return {"resume": ["train", run, "--resume"], "eval": ["eval", "knn", run], "embed": ["embed", run, "--out", place / "e.npy"]}[verb]


def refused(change, part, verbs):
    def body(place, random):
        root, run = trained(place, random)
        named = change(os.path.join(root, part), random)
        before = snapshot(run, without=("train.log", ".lock"))
        for verb in verbs:
            result = place.run(*verb_words(verb, place, run)).expect(DATA)
            require(named in result.err, f"{verb} is refused without the name {named}: {result.err}")
        require_untouched(before, run, without=("train.log", ".lock"))
        require(not os.path.exists(place / "e.npy"), "embed wrote a file all the same")
    return body


def accepted(change):
    def body(place, random):
        root, run = trained(place, random)
        change(os.path.join(root, "test"), random)
        place.run("eval", "knn", run, "--accept-data-change").expect(0)
        result = place.run("train", run, "--resume", "--accept-data-change").expect(0)
        require("has changed, which is accepted" in result.err, f"what was accepted is not said: {result.err}")
        place.run("eval", "knn", run).expect(0)
    return body


def same_size_and_time(place, random):
    root, run = trained(place, random, verify="contents")
    name, file = one(os.path.join(root, "train"), random)
    times = os.stat(file)
    rewritten_bytes = bytearray(read(file))
    rewritten_bytes[-20] ^= 1
    write(bytes(rewritten_bytes), file)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    result = place.run("train", run, "--resume").expect(DATA)
    require(name in result.err, f"{name} is not named: {result.err}")


def moved(copy):
    def body(place, random):
        root, run = trained(place, random)
        if copy:  # all times change
            shutil.copytree(root, place / "moved", copy_function=shutil.copyfile)
        else:
            os.rename(root, place / "moved")
        words = [f"data.{part}.{key}={place / 'moved'}/{part}{end}"
                 for part in ("train", "test") for key, end in (("root", ""), ("labels", ".csv"))]
        place.run("train", run, "--resume", *words).expect(0)
        require(b"/moved/train" in read(os.path.join(run, "config.yaml")), "config.yaml names the old folder")
        require_same_run(run, os.path.join(os.path.dirname(run), "whole"), results=False)  # which name the root
    return body


def options(word):
    def body(place, random):
        run = place.cut()
        before = snapshot(run, without=("train.log", ".lock"))
        place.run("train", run, "--resume", word).expect(USAGE, DATA)
        require_untouched(before, run, without=("train.log", ".lock"))
    return body


def cases(long):
    repeats = range(1, 6) if long else (1,)
    for name, change in CHANGES.items():
        for i in repeats:
            yield f"train: {name} {i}", refused(change, "train", ("resume", "eval") if long else ("resume",))
            if long or name in ("added", "edited label"):
                yield f"test: {name} {i}", refused(change, "test", ("resume", "eval", "embed"))
    yield "accepted: removed", accepted(removed)
    yield "same size and time, contents compared", same_size_and_time
    yield "moved is no change", moved(copy=False)
    yield "copied is no change", moved(copy=True)
    for word in ("data.train.train_count=64", "data.train.seed=1", "data.train.correlation=0.9") if long else ("data.train.seed=1",):
        yield f"options: {word}", options(word)
