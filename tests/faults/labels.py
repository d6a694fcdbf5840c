"""Class 2: columns of labels and biases that are not what a column may be."""

import functools
import os

from .command import DATA, require
from .runs import pictures, read, write

TITLE = "labels"
GROUPS = tuple(f"g{i:02}" for i in range(4))
AMONG_INTEGERS = ("-2", "1.5", "18446744073709551616", "2147483648", "4294967296", "1000001", "cat", "1e3", "0x1", "nan", "inf",
                  "--1", "1 2", "1_000", "\u0661", "9" * 400)
AMONG_NAMES = ("7", "-1", "0", "11.0", "1e3", "nan", "-2")


def table(place, random, column, bad, integers):
    """A folder, and a CSV for it with one bad value in a row drawn by chance; the value's line number."""
    root = pictures(place / "p", random, GROUPS, 5)
    cells = [(f"{g}/{i}.png", GROUPS.index(g) if integers else g, i % 2 if integers else ("red", "blue")[i % 2])
             for g in GROUPS for i in range(5)]
    random.shuffle(cells)
    at = random.randrange(len(cells))
    path, label, bias = cells[at]
    cells[at] = (path, bad, bias) if column == "label" else (path, label, bad)
    write("path,label,bias\n" + "".join(",".join(map(str, row)) + "\n" for row in cells), place / "labels.csv")
    return root, at + 2


def spelling_of_one(place, random, spelling):
    """A sign or a trailing .0 is no fault: +1 and 1.0 are the integer 1."""
    root, line = table(place, random, "label", spelling, True)
    labels = place / "labels.csv"
    place.run("data", "export", "image_folder", "--root", root, f"labels={labels}", "--out", place / "x.npy", "--labels", place / "y.npy").expect(0)
    path = read(labels).decode().splitlines()[line - 1].split(",")[0]
    at = 5 * GROUPS.index(path.split("/")[0]) + int(path.split("/")[1][0])  # in the order of the files
    values = read(place / "y.npy")[-8 * 20:]
    require(int.from_bytes(values[8 * at:8 * at + 8], "little") == 1, f"{spelling} is not read as 1")


def refused(column, bad, integers):
    def body(place, random):
        root, line = table(place, random, column, bad, integers)
        section = f"{{name: image_folder, root: {root}, labels: {place / 'labels.csv'}}}"
        for words in (["data", "check", "image_folder", "--root", root, f"labels={place / 'labels.csv'}"],
                      place.training(place / "run", f"data.train={section}", "train.epochs=1")):
            result = place.run(*words).expect(DATA)
            for part in ("labels.csv", str(line), bad[:40]):
                require(part in result.err, f"'{part}' is missing in: {result.err}")
        require(not os.path.exists(place / "run"), "a run folder was made")
    return body


def unknown_in_test(integers):
    """The test set's labels are read by the run's table; a name that it lacks is refused."""
    def body(place, random):
        root, _ = table(place, random, "label", "3" if integers else "g03", integers)
        train = f"{{name: image_folder, root: {root}, labels: {place / 'labels.csv'}}}"
        place.run(*place.training(place / "run", f"data.train={train}", "train.epochs=1")).expect(0)
        pictures(place / "test/p", random, GROUPS, 5)
        bad = "9" if integers else "g99"
        rows = [f"{g}/{i}.png,{(GROUPS.index(g) if integers else g) if (g, i) != ('g01', 2) else bad}" for g in GROUPS for i in range(5)]
        write("path,label\n" + "\n".join(rows) + "\n", place / "test/labels.csv")
        where = ["--data", "image_folder", "--root", place / "test/p", f"labels={place / 'test/labels.csv'}", "split=train"]
        result = place.run("embed", place / "run", *where, "--out", place / "e.npy").expect(DATA)
        require(bad in result.err, f"'{bad}' is not named: {result.err}")
        require(not os.path.exists(place / "e.npy"), "a file was written all the same")
    return body


def cases(long):
    for column in ("label", "bias"):
        for bad in AMONG_INTEGERS if long else AMONG_INTEGERS[:8] if column == "label" else AMONG_INTEGERS[:2]:
            yield f"{column}: {bad[:24]} among integers", refused(column, bad, True)
        for bad in AMONG_NAMES if long else AMONG_NAMES[:2]:
            yield f"{column}: {bad} among names", refused(column, bad, False)
    for spelling in ("+1", "1.0"):
        yield f"label: {spelling} among integers is 1", functools.partial(spelling_of_one, spelling=spelling)
    yield "test: unknown name", unknown_in_test(False)
    yield "test: unknown integer", unknown_in_test(True)
