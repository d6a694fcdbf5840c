"""FeatureTable: from arrays, tensors and frames, into the files that the program reads and back."""

import csv
import math

import numpy
import pytest
import torch

import debias

VECTORS = numpy.arange(12.0, dtype=numpy.float32).reshape(4, 3)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_the_files_hold_what_was_given(tmp_path):
    table = debias.FeatureTable(torch.from_numpy(VECTORS).bfloat16(), ["b", "a", None, "b"], bias={"place": [1.0, math.nan, 3.0, -1.0], "age": [1.5, 2, None, 4]},
                                split=["train", "valid", "test", "train"], paths=["w.png", "x,1.png", 'y".png', "z.png"], columns={"flag": [True, False, None, True]})
    vectors, rows = table.save(tmp_path / "out.npy")
    assert (vectors.name, rows.name) == ("out.npy", "out.csv")
    assert numpy.load(vectors).tolist() == VECTORS.tolist() and numpy.load(vectors).dtype == numpy.float32
    assert read(rows) == [
        {"path": "w.png", "label": "b", "split": "train", "place": "1", "age": "1.5", "flag": "true"},
        {"path": "x,1.png", "label": "a", "split": "valid", "place": "", "age": "2", "flag": "false"},
        {"path": 'y".png', "label": "", "split": "test", "place": "3", "age": "", "flag": ""},
        {"path": "z.png", "label": "b", "split": "train", "place": "", "age": "4", "flag": "true"}]
    assert table.bias == ("place", "age") and table.numeric == ("age",) and table.classes == ["a", "b"]
    assert table.label_numbers().tolist() == [1, 0, -1, 1]


def test_a_saved_table_is_the_same_when_loaded(tmp_path):
    table = debias.FeatureTable(VECTORS.astype(numpy.float64), [0, 10, 9, -1], bias=["07", "7", None, "x"], split=["train"] * 4, columns={"age": [1.5, 2.5, None, 0.5]})
    again = debias.FeatureTable.load(*table.save(tmp_path / "t"))
    assert again.vectors.dtype == numpy.float64 and again.labels == table.labels == [0, 10, 9, None] and again.classes == ["0", "9", "10"]
    assert again.columns == table.columns and again.bias == ("bias",) and again.numeric == ("age",) and again.split == table.split
    assert debias.FeatureTable.load(tmp_path / "t.npy", bias=["age", "bias"]).bias == ("age", "bias")
    with pytest.raises(KeyError, match="no column 'bais'; did you mean 'bias'"):
        debias.FeatureTable.load(tmp_path / "t.npy", bias="bais")


def test_the_prior_of_a_table_is_that_of_its_labels():
    labels = ["a", "b", "b", None]
    assert debias.prior.from_labels(debias.FeatureTable(VECTORS, labels)) == debias.prior.from_labels([0, 1, 1, -1])


def test_frames_give_and_take():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"label": pandas.Categorical(["a", "b", None, "a"]), "bias": pandas.array([1, None, 0, 1], dtype="Int64"), "split": ["train"] * 4,
                              "when": ["x", "y", "z", "w"], "e0": [0.0, 1, 2, 3], "e1": [4.0, 5, 6, 7]}, index=[5, 3, 9, 1])
    table = debias.FeatureTable.from_frame(frame, ["e0", "e1"])
    assert table.vectors.tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]] and table.labels == ["a", "b", None, "a"]
    assert table.columns == {"bias": [1, None, 0, 1], "when": ["x", "y", "z", "w"]} and table.bias == ("bias",)
    assert list(table.frame().columns) == ["path", "label", "split", "bias", "when"]
    assert debias.FeatureTable(frame[["e0", "e1"]], frame["label"], bias=frame[["bias", "when"]]).bias == ("bias", "when")
    with pytest.raises(KeyError, match="no column 'lable'; did you mean 'label'"):
        debias.FeatureTable.from_frame(frame, ["e0"], label="lable")


ROWS = {"label": ["a", "b", None, "a"], "place": ["in", "out", "in", None], "bias": [1, 0, 0, 1], "split": ["train", "valid", "test", "train"],
        "path": ["w", "x", "y", "z"], "age": [1.5, 2.5, 3.0, 4.0]}


@pytest.mark.parametrize("kind", ["frame", "dict"])
def test_a_frame_as_second_argument_gives_all_rows(kind):
    rows = pytest.importorskip("pandas").DataFrame(ROWS, index=[5, 3, 9, 1]) if kind == "frame" else ROWS
    table, same = debias.FeatureTable(VECTORS, rows), debias.FeatureTable.from_frame(rows, VECTORS)
    for one in (table, same):
        assert one.labels == ROWS["label"] and one.split == ROWS["split"] and one.paths == ROWS["path"] and one.bias == ("bias",)
        assert one.columns == {"bias": [1, 0, 0, 1], "place": ROWS["place"], "age": [1.5, 2.5, 3, 4]} and one.numeric == ("age",)
    assert debias.FeatureTable(VECTORS, rows, bias="place").bias == ("place",)
    assert debias.FeatureTable(VECTORS, rows, bias=["age", "place"], split="split").bias == ("age", "place")
    assert debias.FeatureTable(VECTORS, rows, bias=[]).bias == () == debias.FeatureTable.from_frame(rows, VECTORS, bias=[]).bias
    own = debias.FeatureTable(VECTORS, rows, bias={"own": ["u", "v", "u", "v"]}, split=["test"] * 4, columns={"hour": [1, 2, 3, 4]})
    assert own.split == ["test"] * 4 and own.bias == ("own",) and list(own.columns) == ["own", "place", "bias", "age", "hour"]


@pytest.mark.parametrize("make, error, words", [
    (lambda rows: debias.FeatureTable(VECTORS, rows, bias=["age", "plcae"]), KeyError, "bias: the frame has no column 'plcae'; did you mean 'place'"),
    (lambda rows: debias.FeatureTable(VECTORS, {"lable": rows["label"]}), KeyError, "label: the frame has no column 'label'; did you mean 'lable'"),
    (lambda rows: debias.FeatureTable(VECTORS, {**rows, "label": ["a"]}), ValueError, "labels: expected 4 values, one for each row, found 1"),
    (lambda rows: debias.FeatureTable(VECTORS, rows, columns={"age": [1, 2, 3, 4]}), ValueError, "column 'age' is given twice"),
    (lambda rows: debias.FeatureTable.from_frame(VECTORS, rows), TypeError, "frame: expected a frame of pandas or columns by name, found ndarray"),
    (lambda rows: debias.FeatureTable.from_frame(rows, ["age", "e1"]), KeyError, "vectors: the frame has no column 'e1'"),
])
def test_a_frame_that_does_not_fit_is_rejected(make, error, words):
    with pytest.raises(error, match=words):
        make(ROWS)


def test_only_minus_one_is_unknown():
    table = debias.FeatureTable(VECTORS, columns={"celsius": [-30.0, 0.0, 30.0, -1.0]})
    assert table.columns == {"celsius": [-30, 0, 30, None]}


def test_names_that_embed_guards_are_read_as_they_are(tmp_path):
    numpy.save(tmp_path / "z.npy", numpy.asarray(VECTORS[:2], dtype=numpy.float32))
    (tmp_path / "z.csv").write_text("filenames,labels,class\n'-1.png,0,'+1\nb.png,1,'quoted\n")
    table = debias.FeatureTable.load(tmp_path / "z.npy")
    assert table.paths == ["-1.png", "b.png"] and table.classes == ["'quoted", "+1"]


@pytest.mark.parametrize("given, error, words", [
    ({"vectors": VECTORS[0]}, ValueError, r"vectors: expected non-empty numbers \[n, D\], found float32 of shape \[3\]"),
    ({"vectors": [["a", "b"]] * 4}, ValueError, "vectors: expected non-empty numbers"),
    ({"vectors": [[1.0, math.inf]] * 4}, ValueError, "expected finite numbers, found inf in row 0, column 1"),
    ({"labels": [0, 1]}, ValueError, "labels: expected 4 values, one for each row, found 2"),
    ({"labels": "abcd"}, TypeError, "labels: expected one value for each row, found str"),
    ({"labels": [0.5, 1, 1, 0]}, ValueError, "labels: expected names or whole numbers, found 0.5 in row 0"),
    ({"labels": numpy.zeros((4, 2))}, ValueError, r"labels: expected one value for each row, found shape \[4, 2\]"),
    ({"labels": ["a", " b", "c", "d"]}, ValueError, "found ' b' in row 1; strip it"),
    ({"labels": [object()] * 4}, TypeError, "labels: expected texts or numbers, found object in row 0"),
    ({"split": ["train", "vaild", "test", "test"]}, ValueError, "found 'vaild' in row 1; did you mean 'valid'"),
    ({"paths": ["a", "b", "a", "c"]}, ValueError, "expected different names, found 'a' in rows 0 and 2"),
    ({"bias": {"label": [0, 1, 0, 1]}}, ValueError, "column 'label': the name is that of labels, split or paths"),
    ({"bias": {"a,b": [0, 1, 0, 1]}}, ValueError, "names of columns without commas"),
    ({"bias": [0, 1, 0, 1], "columns": {"bias": [1, 1, 1, 1]}}, ValueError, "column 'bias' is given twice"),
    ({"bias": ["x", 0.5, 1, 1]}, ValueError, "expected names or numbers, found both"),
    ({"bias": [-1, 1, -1, 1]}, ValueError, "holds only -1 and 1, and -1 is unknown; write 0 and 1"),
    ({"bias": [math.inf, 0, 1, 1]}, ValueError, "expected a finite number, found inf in row 0"),
])
def test_what_does_not_fit_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        debias.FeatureTable(**{"vectors": VECTORS, **given})
