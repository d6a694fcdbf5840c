"""FeatureTable: from arrays, tensors and frames, into the files that the program reads and back."""

import copy
import csv
import math
import pickle
import sys
import warnings

import numpy
import pytest
import torch

import debias
from debias import feature_table
from test_run_folder import write_safetensors

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


def is_mapped(array):
    return array is not None and (isinstance(array, numpy.memmap) or is_mapped(getattr(array, "base", None)))


def write_rows(path, name="label"):
    path.write_text(f"path,{name},place\nw,a,in\nx,b,out\ny,a,in\nz,b,in\n")


@pytest.mark.parametrize("dtype", [numpy.float16, numpy.float32, numpy.float64])
def test_vectors_of_a_file_stay_on_disk(tmp_path, dtype):
    numpy.save(tmp_path / "z.npy", VECTORS.astype(dtype))
    write_safetensors(tmp_path / "z.safetensors", {"z": torch.from_numpy(VECTORS.astype(dtype))}, {"format": "pt"})
    write_rows(tmp_path / "z.csv")
    for name in ("z.npy", "z.safetensors"):
        table = debias.FeatureTable.load(tmp_path / name, bias="place")
        assert is_mapped(table.vectors) and not table.vectors.flags.writeable and table.vectors.dtype == dtype
        assert table.vectors.tolist() == VECTORS.tolist() and table.labels == ["a", "b", "a", "b"] and table.bias == ("place",)


def test_a_tensor_among_several_and_a_label_column_are_named(tmp_path):
    tensors = {"patch": torch.zeros(4, 5), "pooled": torch.from_numpy(VECTORS).bfloat16(), "counts": torch.arange(8).reshape(4, 2)}
    write_safetensors(tmp_path / "z.safetensors", tensors)
    write_rows(tmp_path / "rows.csv", "species")
    table = debias.FeatureTable.load(tmp_path / "z.safetensors", tmp_path / "rows.csv", key="pooled", label="species")
    assert table.vectors.dtype == numpy.float32 and table.vectors.tolist() == VECTORS.tolist() and table.labels == ["a", "b", "a", "b"]
    assert debias.FeatureTable.load(tmp_path / "z.safetensors", tmp_path / "rows.csv", key="counts").vectors.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    for given, error, words in [({}, ValueError, "expected one tensor, or its name in key=, found 3: patch, pooled, counts"),
                                ({"key": "poled"}, KeyError, "key: no tensor 'poled'; did you mean 'pooled'"),
                                ({"key": "patch", "label": "specie"}, KeyError, "no column 'specie'; did you mean 'species'")]:
        with pytest.raises(error, match=words):
            debias.FeatureTable.load(tmp_path / "z.safetensors", tmp_path / "rows.csv", **given)


def test_a_table_is_written_over_the_file_that_it_reads(tmp_path):
    first = debias.FeatureTable(VECTORS, ["a", "b", "a", "b"], paths=list("wxyz"))
    first.save(tmp_path / "z")
    table = debias.FeatureTable.load(tmp_path / "z.npy")
    debias.FeatureTable(VECTORS + 1, ["a", "b", "a", "b"]).save(tmp_path / "z")
    assert table.vectors.tolist() == VECTORS.tolist()
    table.save(tmp_path / "z")
    assert numpy.load(tmp_path / "z.npy").tolist() == VECTORS.tolist() and sorted(one.name for one in tmp_path.iterdir()) == ["z.csv", "z.npy"]


def test_the_program_reads_a_mapped_file_itself(tmp_path):
    debias.FeatureTable(VECTORS, ["a", "b", "a", "b"]).save(tmp_path / "z")
    table = debias.FeatureTable.load(tmp_path / "z.npy")
    names = iter("abcdefg")

    def handed_over(one):
        folder = tmp_path / next(names)
        folder.mkdir()
        vectors, rows = one._files(folder)
        assert rows.parent == folder and numpy.load(vectors).tolist() == one.vectors.tolist()
        return vectors.is_symlink()

    assert handed_over(table) and not handed_over(copy.deepcopy(table)) and not handed_over(pickle.loads(pickle.dumps(table)))
    rows, table.vectors = table.vectors, table.vectors[::-1]
    assert not handed_over(table)
    table.vectors = rows
    assert handed_over(table)
    debias.FeatureTable(VECTORS + 1, ["a", "b", "a", "b"]).save(tmp_path / "z")
    assert not handed_over(table)
    numpy.save(tmp_path / "z.npy", numpy.asfortranarray(VECTORS))
    assert not handed_over(debias.FeatureTable.load(tmp_path / "z.npy"))


def test_a_wrong_number_is_found_in_any_block(monkeypatch):
    monkeypatch.setattr(feature_table, "_BLOCK", 4)
    wrong = VECTORS.copy()
    wrong[3, 1] = numpy.nan
    with pytest.raises(ValueError, match="found nan in row 3, column 1"):
        debias.FeatureTable(wrong)
    assert debias.FeatureTable(VECTORS).vectors.shape == (4, 3)


@pytest.fixture(params=["pyarrow", "stand-in"])
def write_parquet(request, monkeypatch):
    """Writes a frame, with pyarrow or, where it is missing, kept in memory for a stand-in of pandas.read_parquet."""
    pandas = pytest.importorskip("pandas")
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow")
        return lambda frame, path: frame.to_parquet(path)
    written = {}
    monkeypatch.setattr(pandas, "read_parquet", lambda path: written[path])
    return lambda frame, path: written.update({path: frame})


def test_parquet_has_vectors_in_columns_or_in_one_of_lists(tmp_path, write_parquet):
    import pandas
    file = tmp_path / "z.parquet"
    numbers = pandas.DataFrame(VECTORS, columns=["e0", "e1", "e2"])
    write_parquet(numbers, file)
    with pytest.raises(FileNotFoundError, match="no z.csv beside it; name the rows' CSV"):
        debias.FeatureTable.load(file)
    write_rows(tmp_path / "rows.csv")
    table = debias.FeatureTable.load(file, tmp_path / "rows.csv", bias="place")
    assert table.vectors.flags.c_contiguous and table.vectors.tolist() == VECTORS.tolist() and table.bias == ("place",)
    rows = {"path": list("wxyz"), "label": [0, 1, 0, 1], "bias": ["in", "out", None, "in"]}
    write_parquet(numbers.assign(**rows), file)
    table = debias.FeatureTable.load(file)
    assert table.vectors.tolist() == VECTORS.tolist() and table.labels == rows["label"] and table.columns == {"bias": rows["bias"]}
    assert table.bias == ("bias",) and table.paths == rows["path"]
    write_parquet(pandas.DataFrame({**rows, "embedding": list(VECTORS), "age": [1.5, 2, 3, 4]}), file)
    table = debias.FeatureTable.load(file, key="embedding")
    assert table.vectors.tolist() == VECTORS.tolist() and list(table.columns) == ["bias", "age"]
    assert debias.FeatureTable.load(file, bias=["age"]).bias == ("age",)


def test_parquet_that_does_not_fit_is_rejected(tmp_path, write_parquet):
    import pandas
    file = tmp_path / "z.parquet"
    for columns, given, error, words in [
            ({"e": [1.0, 2], "camera": ["x", "y"], "label": [0, 1]}, {}, ValueError, "in columns of numbers or in one of lists, found .* in column 'camera'"),
            ({"e": [[1.0], [2.0, 3.0]], "label": [0, 1]}, {}, ValueError, "column 'e': expected lists of numbers, each of one length, found a list of 1 and a list of 2"),
            ({"e": [[1.0], [2.0]], "f": [[1.0], [2.0]]}, {}, ValueError, "expected one column of lists, or its name in key=, found 2: e, f"),
            ({"e": [[1.0], [2.0]]}, {"key": "emb"}, KeyError, "key: no column 'emb'"),
            ({"e": [1.0, 2.0]}, {"key": "e"}, ValueError, "column 'e': expected lists of numbers, each of one length, found float")]:
        write_parquet(pandas.DataFrame(columns), file)
        with pytest.raises(error, match=words):
            debias.FeatureTable.load(file, **given)


def test_parquet_needs_pyarrow(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")

    def refuse(path):
        raise ImportError("Unable to find a usable engine")

    monkeypatch.setattr(pandas, "read_parquet", refuse)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"z.parquet: expected pandas and pyarrow to read Parquet, found no pyarrow; pip install pandas pyarrow, or"):
        debias.FeatureTable.load(tmp_path / "z.parquet")


@pytest.mark.parametrize("name, content, given, words", [
    ("z.npy", b"", {}, "z.npy: expected an .npy file of numbers"),
    ("z.npy", b"PK\x03\x04", {}, "z.npy: expected an .npy file of numbers"),
    ("z.npy", b"", {"key": "z"}, "z.npy: key: expected None, since an .npy file has one array, found 'z'"),
    ("z.safetensors", b"", {}, "z.safetensors: expected a safetensors file, found 0 bytes"),
    ("z.safetensors", (2).to_bytes(8, "little") + b"{}", {}, "expected one tensor, or its name in key=, found 0"),
    ("z.pt", b"", {}, "z.pt: expected a file of vectors, .npy, .safetensors or .parquet, found '.pt'"),
])
def test_files_without_vectors_are_rejected(tmp_path, name, content, given, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=words):
        debias.FeatureTable.load(tmp_path / name, **given)


def test_an_archive_of_arrays_is_rejected(tmp_path):
    numpy.savez(tmp_path / "z.npz", a=VECTORS, b=VECTORS)
    (tmp_path / "z.npz").rename(tmp_path / "z.npy")
    with pytest.raises(ValueError, match="z.npy: expected an .npy file of one array, found an archive of 2"):
        debias.FeatureTable.load(tmp_path / "z.npy")


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
    (lambda rows: debias.FeatureTable.from_frame(VECTORS, rows), TypeError, "frame: expected a pandas DataFrame or columns by name, found ndarray"),
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
    ({"labels": [object()] * 4}, TypeError, "labels: expected texts or numbers, found object in row 0"),
    ({"split": ["train", "vaild", "test", "test"]}, ValueError, "found 'vaild' in row 1; did you mean 'valid'"),
    ({"paths": ["a", "b", "a", "c"]}, ValueError, "expected different names, found 'a' in rows 0 and 2"),
    ({"bias": {"label": [0, 1, 0, 1]}}, ValueError, "column 'label': the name is that of labels, split or paths"),
    ({"bias": {"a,b": [0, 1, 0, 1]}}, ValueError, "names of columns without commas"),
    ({"bias": [0, 1, 0, 1], "columns": {"bias": [1, 1, 1, 1]}}, ValueError, "column 'bias' is given twice"),
    ({"bias": ["x", 0.5, 1, 1]}, ValueError, "expected names or numbers, found both: text 'x' in row 0, number 0.5 in row 1; convert"),
    ({"labels": [2, 1, "1", 2]}, ValueError, "labels: expected names or numbers, found both: number 2 in row 0, text '1' in row 2; convert the column"),
    ({"columns": {"lit": [True, 1, None, False]}}, ValueError, "columns 'lit': expected names or numbers, found both: yes or no True in row 0, number 1"),
    ({"labels": {1, 2, 3, 4}}, TypeError, "labels: expected one value for each row, found set"),
    ({"labels": numpy.array(["2020-01-01"] * 4, dtype="M8[ns]")}, TypeError, "labels: expected texts or numbers, found datetime64"),
    ({"labels": [b"\xff"] * 4}, ValueError, "labels: expected texts in UTF-8, found .* in row 0"),
    ({"vectors": [[1.0, 2.0], [1.0]]}, ValueError, "vectors: expected numbers .*, found rows of different lengths"),
    ({"vectors": numpy.array([[1, "x"]] * 4, dtype=object)}, TypeError, "vectors: expected numbers .*, found 'x' in row 0, column 1"),
    ({"vectors": numpy.ma.array(VECTORS, mask=VECTORS > 9)}, ValueError, r"vectors: expected numbers, found 2 masked, the first at \[3, 1\]; fill them"),
    ({"bias": [-1, 1, -1, 1]}, ValueError, "holds only -1 and 1, and -1 is unknown; write 0 and 1"),
    ({"bias": [math.inf, 0, 1, 1]}, ValueError, "expected a finite number, found inf in row 0"),
])
def test_what_does_not_fit_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        debias.FeatureTable(**{"vectors": VECTORS, **given})


@pytest.mark.parametrize("fields, classes", [
    (["01", "1", "2", "2"], ["01", "1", "2"]),
    (["007", "010", "100", "100"], ["007", "010", "100"]),
    (["+1", "1", "-1", "2"], ["1", "2"]),
    (["1.0", "1", "2.0", "2.0"], ["1", "2"]),
    (["-1.0", "0.0", "1.0", ""], ["0", "1"]),
    (["1.5", "1", "2.0", "2.0"], ["1", "1.5", "2.0"]),
    (["10", "9", "-1", ""], ["9", "10"]),
])
def test_labels_of_a_csv_are_numbers_only_as_they_are_printed(tmp_path, fields, classes):
    numpy.save(tmp_path / "z.npy", numpy.asarray(VECTORS, dtype=numpy.float32))
    (tmp_path / "z.csv").write_text("label\n" + "".join(f'"{field}"\n' for field in fields))
    assert debias.FeatureTable.load(tmp_path / "z.npy").classes == classes


def test_words_for_missing_values_are_unknown_with_a_warning(tmp_path):
    numpy.save(tmp_path / "z.npy", numpy.asarray(VECTORS, dtype=numpy.float32))
    (tmp_path / "z.csv").write_text("label,bias\n1,red\nnan,None\nNA,blue\n2,none\n")
    with pytest.warns(UserWarning) as said:
        table = debias.FeatureTable.load(tmp_path / "z.npy")
    assert table.labels == [1, None, None, 2] and table.columns["bias"] == ["red", None, "blue", "none"]
    assert [str(one.message) for one in said] == ["column 'label': 2 fields such as 'nan' are read as unknown",
                                                  "column 'bias': 1 field, 'None', is read as unknown",
                                                  "column 'bias': none is read as bias label none (1 field); where it means unknown, leave the field empty"]
    assert all(one.filename == __file__ for one in said)


@pytest.fixture
def files(tmp_path):
    """Writes a CSV beside three vectors, and another one; returns the table of both and the warnings."""
    numpy.save(tmp_path / "z.npy", numpy.asarray(VECTORS[:3], dtype=numpy.float32))

    def load(beside, rows, **given):
        (tmp_path / "z.csv").write_text(beside, encoding="utf-8")
        (tmp_path / "rows.csv").write_text(rows, encoding="utf-8")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            table = debias.FeatureTable.load(tmp_path / "z.npy", tmp_path / "rows.csv", **given)
        return table, [str(one.message) for one in said]

    return load


NAMED = "filenames,labels\nx/b.png,0\nx/c.png,0\nx/a.png,0\n"


def test_rows_are_joined_by_the_names_beside_the_vectors(files):
    table, said = files(NAMED, "path,label,place\nx/a.png,ant,in\nx/y.png,bee,in\nx/b.png,bee,out\nx/c.png,cow,in\n")
    assert table.labels == ["bee", "cow", "ant"] and table.paths == ["x/b.png", "x/c.png", "x/a.png"] and said == []
    assert table.columns == {"place": ["out", "in", "in"]}
    table, said = files("path,split\nb,test\nc,train\na,valid\n", "path,label\na,0\nb,1\nc,0\n")
    assert table.split == ["test", "train", "valid"] and ["splits are those of" in one for one in said] == [True]


@pytest.mark.parametrize("title", ["image_id", "file_name", "Bild", ""])
def test_the_column_that_holds_the_names_is_found(files, title):
    table, said = files(NAMED, f"id,label,{title}\n7,ant,a\n8,bee,X/b.png\n9,cow,x/c.png\n")
    assert table.labels == ["bee", "cow", "ant"] and table.columns == {"id": [8, 9, 7]} or table.columns == {}
    assert said == [f"column '{title}' names the vectors" if title else "the column without a title names the vectors",
                    "1 name of a row differs in case from what it names, such as 'X/b.png' for 'x/b.png'; it is joined",
                    "1 name of a row differs in ending from what it names, such as 'a' for 'x/a.png'; it is joined"]


def test_rows_in_the_order_of_the_vectors_are_said_to_be(files):
    table, said = files("labels\n0\n1\n0\n", "path,label\na,ant\nb,bee\nc,cow\n")
    assert table.labels == ["ant", "bee", "cow"] and [one.endswith("are taken in the order of the vectors, which have no such names") for one in said] == [True]


@pytest.mark.parametrize("beside, rows, words", [
    (NAMED, "path,label\nx/a.png,ant\nx/b.png,bee\n", r"column 'path' lacks 1 of 3 names of the vectors: 'x/c.png' \(vector 1\)"),
    (NAMED, "path,label\nx/a.png,ant\na,ant\nx/b.png,bee\nx/c.png,cow\nx/a.png,cow\n", "line 6: 'x/a.png' is given twice, first in line 2"),
    ("path,label\na,ant\nb,bee\nc,ant\n", "path,label\na,ant\nb,ant\nc,ant\n", "1 of 3 labels are not those of .*, the first of 'b': 'ant' and 'bee'; "),
])
def test_rows_that_cannot_be_joined_are_refused(files, beside, rows, words):
    with pytest.raises(ValueError, match=words):
        files(beside, rows)


def test_a_csv_with_other_separators_and_spellings_is_read_and_said(files):
    table, said = files(NAMED, "Unnamed: 0;path;label;age\n0;x/a.png;caf\u00e9;1,5\n1;x/b.png;cafe\u0301;2,5\n2;x/c.png;bar;3\n")
    assert table.labels == ["caf\u00e9", "bar", "caf\u00e9"] and table.columns == {"age": [2.5, 3, 1.5]}
    assert said == ["semicolons separate the fields", "column 'Unnamed: 0' numbers the rows and is left out",
                    "column 'label': 1 field, 'cafe\u0301', is read as 'caf\u00e9', from which it differs only in blanks or Unicode form",
                    "column 'age': 2 fields such as '1,5' are read with a decimal point"]


def test_columns_of_a_frame_that_nobody_named_are_left_out_with_one_warning():
    import datetime
    rows = {"label": ["a", "b", "a", "b"], "when": [datetime.date(2020, 1, day) for day in (1, 2, 3, 4)], "tags": [[1], [2], [], [3]],
            "ratio": [1.0, math.inf, 2.0, 3.0], "place": ["in", "out", "in", "in"]}
    with pytest.warns(UserWarning) as said:
        table = debias.FeatureTable(VECTORS, rows)
    assert table.columns == {"place": rows["place"]}
    assert [str(one.message) for one in said] == ["FeatureTable: 3 columns are left out, since they hold neither names nor finite numbers: when, tags, ratio"]
    with pytest.raises(ValueError, match="expected a finite number, found inf in row 1"):
        debias.FeatureTable(VECTORS, rows, bias="ratio")


def test_spellings_and_codes_are_said_once():
    with pytest.warns(UserWarning) as said:
        table = debias.FeatureTable(VECTORS, [0, 255, 1, 255], bias=["Red", "red", "blue", "blue\u00a0"])
    assert table.labels == [0, 255, 1, 255] and table.columns["bias"] == ["Red", "red", "blue", "blue"]
    assert [str(one.message) for one in said] == [
        "column 'label': 255 is read as class 255 (2 fields); where it means unknown, leave the field empty",
        "column 'bias': 1 field, 'blue\u00a0', is read as 'blue', from which it differs only in blanks or Unicode form",
        "column 'bias': 'Red' (1 field) and 'red' (1 field) differ only in case and are two values; write one if they are one"]


@pytest.mark.parametrize("given", [{"group": ["a", "a", None, "b"]}, {"group": {"patient": ["a", "a", "", "b"]}},
                                   {"group": "patient", "labels": {"label": [0, 1, 0, 1], "patient": ["a", "a", None, "b"]}},
                                   {"labels": {"label": [0, 1, 0, 1], "group": ["a", "a", None, "b"]}}])
def test_groups_are_values_or_columns_of_the_frame(given, tmp_path):
    table = debias.FeatureTable(VECTORS, **{"labels": [0, 1, 0, 1], **given})
    (name,) = table.group
    assert table.columns[name] == ["a", "a", None, "b"]
    loaded = debias.FeatureTable.load(table.save(tmp_path / "t")[0], group=name)
    assert loaded.group == (name,) and loaded.columns[name] == ["a", "a", None, "b"]
    frame = debias.FeatureTable.from_frame({"label": [0, 1, 0, 1], "burst": [1, 1, 2, 3]}, VECTORS, group="burst")
    assert frame.group == ("burst",) and not frame.numeric


def test_a_group_column_that_is_absent_is_named_with_the_nearest(tmp_path):
    file = debias.FeatureTable(VECTORS, [0, 1, 0, 1], group={"patient": [1, 1, 2, 2]}).save(tmp_path / "t")[0]
    with pytest.raises(KeyError, match="patients.*did you mean 'patient'"):
        debias.FeatureTable.load(file, group="patients")


def said_by(make):
    """What a call returns, and its warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = make()
    return found, [str(one.message) for one in said]


def test_what_has_an_index_is_joined_by_it():
    pandas = pytest.importorskip("pandas")
    vectors = pandas.DataFrame(VECTORS, index=list("abcd"))
    labels, place = pandas.Series([1, 2, 3, 4], index=list("dcba")), pandas.Series(["in", "out", "in", "out"], index=list("bacd"))
    table, said = said_by(lambda: debias.FeatureTable(vectors, labels, bias={"place": place}))
    assert table.labels == [4, 3, 2, 1] and table.columns == {"place": ["out", "in", "in", "out"]}
    assert said == [f"FeatureTable: {what}: the index is that of vectors in another order, in {count} rows, the first 'a': rows are joined by index; "
                    "reset_index(drop=True) takes them by position" for what, count in (("labels", 4), ("bias 'place'", 2))]
    frame = pandas.DataFrame({"label": labels, "place": place, "split": ["train", "valid", "test", "train"]}, index=list("dcba"))
    for make in (lambda: debias.FeatureTable(vectors, frame), lambda: debias.FeatureTable.from_frame(frame, vectors)):
        table, said = said_by(make)
        assert table.labels == [4, 3, 2, 1] and table.split == ["train", "test", "valid", "train"] and table.columns["place"] == ["out", "in", "in", "out"] and said
    table, said = said_by(lambda: debias.FeatureTable(VECTORS, labels, bias=labels[::-1]))
    assert table.columns == {"bias": [1, 2, 3, 4]} and ["that of labels in another order" in one for one in said] == [True]
    table, said = said_by(lambda: debias.FeatureTable(vectors, pandas.Series([1, 2, 3, 4])))
    assert table.labels == [1, 2, 3, 4] and [one.endswith("rows are taken by position") for one in said] == [True]
    assert said_by(lambda: debias.FeatureTable(vectors, labels.loc[list("abcd")], bias=[1, 2, 1, 2]))[1] == []


def test_row_numbers_in_another_order_beside_rows_without_an_index_are_said():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series([1, 2, 3, 4])
    table, said = said_by(lambda: debias.FeatureTable(VECTORS, labels.iloc[[0, 3, 2, 1]]))
    assert table.labels == [1, 4, 3, 2] and [
        "in 2 rows, the first 3 in row 1, beside vectors without an index: rows are taken by position" in one for one in said] == [True]
    for given in (labels, labels.iloc[[0, 3, 2, 1]].reset_index(drop=True), labels.rename(lambda row: row + 10)):
        assert said_by(lambda: debias.FeatureTable(VECTORS, given))[1] == []


@pytest.mark.parametrize("own, given, words", [
    ("abcd", "abcx", "the index has other rows than that of vectors, the first in row 3, 'x' for 'd'"),
    ("aabb", "abab", "the index has rows of one name"), ([3, 4, 5, 6], [4, 5, 6, 7], "the first in row 0, '4' for '3'")])
def test_rows_of_another_index_are_refused(own, given, words):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=f"labels: .*{words}"):
        debias.FeatureTable(pandas.DataFrame(VECTORS, index=list(own)), pandas.Series([1, 2, 3, 4], index=list(given)))


def test_masked_values_are_unknown():
    table = debias.FeatureTable(numpy.ma.array(VECTORS), numpy.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0]), bias=["x", numpy.ma.masked, "y", "x"])
    assert table.labels == [1, None, 3, 4] and table.columns["bias"] == ["x", None, "y", "x"]
    pandas = pytest.importorskip("pandas")
    known = debias.prior.from_labels([3, 0, 3, -1])
    for labels in (numpy.ma.array([3, 0, 3, 7], mask=[0, 0, 0, 1]), pandas.array([3, 0, 3, None], dtype="Int64"),
                   pandas.Series([3, 0, 3, None], index=[9, 8, 7, 6], dtype="Int64")):
        assert debias.prior.from_labels(labels) == known


def test_measures_join_series_by_their_index():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series([0, 1, 1, 0], index=list("wxyz"))
    found, said = said_by(lambda: debias.metrics.group_metrics(labels[::-1], labels, [0, 0, 1, 1]))
    assert found["acc1"] == 1 and ["labels: the index is that of predictions in another order" in one for one in said] == [True]
    with pytest.raises(ValueError, match="groups: the index has other rows than that of predictions"):
        debias.metrics.group_metrics(labels, labels, labels, groups=labels.set_axis(list("wxyo")))


def test_columns_of_the_vectors_frame_that_are_no_features_are_used_or_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(VECTORS, columns=["e0", "e1", "e2"])
    table, said = said_by(lambda: debias.FeatureTable(frame.assign(label=[1, 0, 1, 0], bias=list("xyxy"), path=list("pqrs"))))
    assert table.vectors.tolist() == VECTORS.tolist() and table.labels == [1, 0, 1, 0] and table.bias == ("bias",) and table.paths == list("pqrs") and not said
    for own, words in ((frame.assign(label=1), "the frame has a column 'label', which is given too"), (frame.assign(target=1), "'target', is by its name no feature"),
                       (frame.assign(site=list("abcd")), "1 column of 4, 'site', holds no numbers: FeatureTable.from_frame"),
                       (frame.assign(lit=[True] * 4), "'lit', holds no numbers"), (frame.assign(hospital=1, age=0.5), "2 columns of 5, the first 'hospital', are not numbered as 'e0' is"),
                       (pandas.DataFrame(VECTORS).assign(y=1), "'y', is not numbered as '0' is")):
        with pytest.raises(ValueError, match=words):
            debias.FeatureTable(own, [1, 0, 1, 0])
    table, said = said_by(lambda: debias.FeatureTable(frame.set_axis(["u", "v", "w"], axis=1).assign(n=[1, 0, 1, 0]), [1, 0, 1, 0]))
    assert table.vectors.shape == (4, 4) and ["1 column of 4, 'n', holds whole numbers and is taken as a feature" in one for one in said] == [True]
    assert debias.FeatureTable(pandas.DataFrame(VECTORS.astype(int)), [1, 0, 1, 0]).vectors.shape == (4, 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.float8_e4m3fn, torch.int32, torch.uint8, torch.bool])
def test_tensors_of_every_type_are_read(dtype):
    vectors = torch.eye(4).to(dtype)
    assert debias.FeatureTable(vectors, torch.tensor([0, 1, 1, 0]).to(dtype)).label_numbers().tolist() == [0, 1, 1, 0]
    assert debias.FeatureTable(torch.eye(4).to_sparse(), [0, 1, 1, 0]).vectors.tolist() == torch.eye(4).tolist()


@pytest.mark.parametrize("content, words", [
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 9\n", "is a pointer of Git LFS, not .*; git lfs pull fetches the file"),
    (b"\xef\xbb\xbf\n<!DOCTYPE html>\n<html>", "is an HTML page, not .*: download the file itself"), (b"PK\x03\x04 xlsx", "is a zip archive or an Excel workbook"),
    (b'{"error": 404}', "is a JSON text"), (b"\x1f\x8b\x08", "is a file compressed by gzip")])
def test_files_in_the_place_of_others_are_named(tmp_path, content, words):
    numpy.save(tmp_path / "z.npy", VECTORS)
    (tmp_path / "z.csv").write_bytes(content)
    with pytest.raises(ValueError, match=f"z.csv: {words}"):
        debias.FeatureTable.load(tmp_path / "z.npy")
    (tmp_path / "z.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=f"z.safetensors: {words}"):
        debias.FeatureTable.load(tmp_path / "z.safetensors")


def test_a_gallery_far_from_zero_is_said_to_be():
    rows = torch.randn(40, 8, generator=torch.Generator().manual_seed(1))
    labels = (rows[:, 0] > 0).long()
    assert said_by(lambda: debias.metrics.knn(rows + 20, labels, rows, k=5))[1] == []
    assert ["the gallery lies 2.8e+04 from 0" in one for one in said_by(lambda: debias.metrics.knn(rows + 1e4, labels, rows, k=5))[1]] == [True]
