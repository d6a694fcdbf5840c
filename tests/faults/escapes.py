"""Class 8: names that would steer a terminal or run in a spreadsheet, and results that would be written over what they are made from."""

import csv
import os
import shutil
import unicodedata

from .command import USAGE, require
from .runs import checkpoint, pictures, png, read, require_untouched, snapshot, write

TITLE = "escapes and overwriting"
PIECES = ("\x1b[31m", "\x1b]0;x\x07", "\n", "\r", "\t", "\x7f", "\x08", "\x9b31m", "\x85", "\u202e", "cat", "dog", "=1+1", "@x", "+2", "-1", ",",
          '"', "'", " ", "é", "%s", "{}", "\\")
INTERPRETED = ("=", "+", "-", "@")
REFUSALS = ("would be written over its own input", "inside the data folder", "nothing is overwritten", "which no export wrote", "one file",
            "in it; choose another output", "is not a run folder (no config.yaml); choose another output")


def harmless(text, what):
    # Bytes that are not UTF-8 have been replaced; Cf has the marks of direction.
    found = [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf") or c == "\ufffd"]
    require(not found, f"{what} prints {found[0]!r}" if found else "")


def hostile_name(random):
    while True:
        name = "".join(random.choice(PIECES) for _ in range(random.randrange(2, 6))).strip()
        if name and name[0] != "." and len(name.encode()) < 200:
            return name


def trained_on(place, names, random):
    root = pictures(place / "data", random, names, 3)
    png(os.path.join(root, names[0], hostile_name(random).replace("/", "") + ".png"), random)
    section = f"{{name: image_folder, root: {root}}}"
    run = place / "run"
    words = place.training(run, f"data={{train: {section}, test: {section}}}", "objective={name: infonce}", "train.epochs=1",
                           "train.batch_size=4", "evaluate={protocols: [knn], knn: {k: 3}}")
    return root, run, place.run(*words).expect(0)


def never_steer(place, random):
    names = sorted({"cat\x1b[31m\ndog", "fox\x9b31m", *(hostile_name(random) for _ in range(4))})
    root, run, result = trained_on(place, names, random)
    harmless(result.out + result.err + read(run, "train.log").decode("utf-8", "replace"), "train")
    for words in (["data", "check", "image_folder", "--root", root], ["data", "check", "image_folder", "--root", root, "--json"],
                  ["data", "check", "image_folder", "--root", os.path.join(root, names[0])],
                  ["init", root, "--out", place / "p.yaml", "--minutes", "1"], ["eval", "knn", run], ["eval", "knn", run, "--json"],
                  ["eval", "knn", run, "--data", "image_folder", "--root", root, "--json"], ["embed", run, "--out", place / "e\x1b[31m.npy"],
                  ["embed", run, "--out", place / "e\x1b[31m.npy", "--json"], ["report", run, "--text"], ["report", run, "--json"],
                  place.training(place / "x\x1b[31m", "--dry-run"),
                  ["checkpoint", "show", run], ["checkpoint", "show", run, "--json"], ["train", place / f"no{names[0]}.yaml"], [names[0]]):
        result = place.run(*words)
        harmless(result.out, f"{words[:2]} on standard output")
        harmless(result.err, f"{words[:2]} on standard error")
        require(result.exit >= 0 and "internal error" not in result.err, f"{words[:2]}: exit {result.exit}")


def no_formulas(place, random):
    names = ["=1+1,x", "-1", "+a", "@b"]
    _, run, _ = trained_on(place, names, random)
    place.run("embed", run, "--out", place / "e.csv").expect(0)
    place.run("eval", "knn", run, "--predictions").expect(0)
    for path in (place / "e.csv", place / "e.names.csv", os.path.join(run, "evaluation/knn.csv")):
        if not os.path.exists(path):
            continue
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.reader(file):
                for cell in row:
                    require(not cell.startswith(INTERPRETED) or is_number(cell), f"{path} has the cell {cell!r}")
    place.run("embed", run, "--out", place / "raw.csv", "--raw").expect(0)
    require("'=" not in read(place / "raw.csv").decode(), "--raw does not leave names as they are")


def is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def not_over(words):
    """What `words` say is refused, and every file stays what it was."""
    def body(place, random):
        paths = prepared(place, random)
        before = snapshot(place.folder, without=(".lock",))
        result = place.run(*words(paths))
        result.expect(USAGE)
        require(any(part in result.err for part in REFUSALS), f"refused for another reason: {result.err}")
        require_untouched(before, place.folder, without=(".lock",))
    return body


def prepared(place, random):
    root = pictures(place / "data", random)
    labels = place / "labels.csv"
    write("path,label\n" + "".join(f"{g}/{i}.png,{g}\n" for g in ("cat", "dog") for i in range(6)), labels)
    run = place / "run"
    shutil.copytree(place.whole("evaluated"), run)
    os.symlink(checkpoint(run), place / "link.csv")
    os.link(checkpoint(run), place / "same.npy")
    write("{train: {epochs: 1}}\n", place / "r.yaml")
    return {"root": root, "labels": labels, "run": run, "place": place.folder, "recipe": place.recipe}


OVERWRITES = {
    "embed over labels": lambda p: ["embed", p["run"], "--data", "image_folder", "--root", p["root"], f"labels={p['labels']}", "--out", p["labels"]],
    "embed beside labels": lambda p: ["embed", p["run"], "--data", "image_folder", "--root", p["root"], f"labels={p['labels']}", "--out",
                                      p["place"] + "/labels.npy"],
    "embed over metrics": lambda p: ["embed", p["run"], "--out", p["run"] + "/metrics"],
    "embed over a link to a checkpoint": lambda p: ["embed", p["run"], "--out", p["place"] + "/link.csv"],
    "embed over a hard link": lambda p: ["embed", p["run"], "--out", p["place"] + "/same.npy"],
    "embed into the data": lambda p: ["embed", p["run"], "--data", "image_folder", "--root", p["root"], "--out", p["root"] + "/cat/e.npy"],
    "views over the picture": lambda p: ["views", "show", "sim32", "--image", p["root"] + "/cat/0.png", "--out", p["root"] + "/cat/0.png"],
    "apply over the picture": lambda p: ["views", "apply", "--image", p["root"] + "/cat/0.png", "--out", p["root"] + "/cat/0.png", "resize: {size: 8}"],
    "init over labels": lambda p: ["init", p["root"], "--labels", p["labels"], "--out", p["labels"]],
    "export into checkpoints": lambda p: ["export", p["run"], "--out", p["run"] + "/checkpoints"],
    "data export, twice one file": lambda p: ["data", "export", "glyphs", "size=16", "train_count=20", "--out", p["place"] + "/x.npy", "--labels",
                                              p["place"] + "/x.npy"],
    "train into the data": lambda p: ["train", p["recipe"], f"data.train={{name: image_folder, root: {p['root']}}}", "train.batch_size=4", f"output={p['root']}/run"],
    "train over a folder": lambda p: ["train", p["recipe"], f"output={p['place']}", "--overwrite"],
    "overwrite what the recipe reads": lambda p: ["train", p["run"], f"output={p['run']}", "--overwrite",
                                                  f"encoder.weights={p['run']}/checkpoints/last.safetensors"],
}


def home(words, made):
    """`~` is the home folder, and no folder of that name."""
    def body(place, random):
        os.makedirs(place / "home")
        os.makedirs(place / "here")
        given = [word(place) if callable(word) else word for word in words]
        result = place.run(*given, env={"HOME": place / "home"}, cwd=place / "here")
        result.expect(0 if made else USAGE)
        if made and made.endswith("config.yaml"):
            require(f"output: {place / 'home'}/{os.path.dirname(made)}".encode() in read(place / "home", made), "config.yaml has another output")
        require(not made or os.path.exists(os.path.join(place / "home", made)), f"{made} is not below the home folder")
        require(not os.listdir(place / "here"), f"{os.listdir(place / 'here')} was made")
    return body


def cases(long):
    for i in range(1, 13 if long else 2):
        yield f"names on a terminal {i}", never_steer
    yield "names in a spreadsheet", no_formulas
    for name, words in OVERWRITES.items():
        yield name, not_over(words)
    recipe, run = (lambda place: place.recipe), (lambda place: place.whole("evaluated"))
    yield "train to ~", home(["train", recipe, "train.epochs=1", "output=~/runs/a"], "runs/a/config.yaml")
    yield "embed to ~", home(["embed", run, "--out=~/e.npy"], "e.npy")
    yield "train to ~root", home(["train", recipe, "output=~root/a"], "")
    yield "embed to ~nobody", home(["embed", run, "--out=~nobody/e.npy"], "")
