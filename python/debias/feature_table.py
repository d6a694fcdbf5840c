"""Vectors of a frozen encoder with their labels and other columns: the table that `debias audit`, `fix`, `eval` and `prior` read."""

import contextlib
import copy
import csv
import difflib
import math
import os
import pathlib
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import torch

from . import _csv_table, _rows, _vector_files
from ._inputs import require_name, unmasked, warn

_SPLITS = ("train", "valid", "test")
_NAMES = ("path", "filenames", "id")
_RESERVED = (*_NAMES, "label", "split")
_BLOCK = 1 << 22  # numbers that are checked at once
_WAY_OUT = "FeatureTable.from_frame(frame, [...]) names the columns of the vectors, and frame.to_numpy() makes all of them features"
_Path = Union[str, "os.PathLike[str]"]


def _refuse(what: str, text: str) -> ValueError:
    return ValueError(f"FeatureTable: {what}: {text}")


def _vectors(value: Any) -> Any:
    """A float array [n, D] of numpy, finite."""
    import numpy
    value = unmasked("FeatureTable: vectors", value)
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        value = value.to_dense() if value.layout != torch.strided else value
        value = (value.float() if value.is_floating_point() and value.dtype not in (torch.float16, torch.float32, torch.float64) else value).numpy()
    elif hasattr(value, "toarray"):  # a sparse matrix of scipy
        value = value.toarray()
    elif hasattr(value, "to_numpy"):
        value = value.to_numpy()
    try:
        array = numpy.asarray(value)
    except ValueError:
        raise _refuse("vectors", "expected numbers [n, D], found rows of different lengths") from None
    if array.dtype.kind in "iub" or array.dtype == object:
        try:
            array = array.astype(numpy.float32)
        except (TypeError, ValueError):
            raise TypeError(f"FeatureTable: vectors: expected numbers [n, D], found {_no_number(array)}") from None
    if array.dtype.kind != "f" or array.ndim != 2 or array.size == 0:
        raise _refuse("vectors", f"expected non-empty numbers [n, D], found {array.dtype} of shape {list(array.shape)}")
    if array.dtype.itemsize > 8:
        array = array.astype(numpy.float64)
    rows = max(1, _BLOCK // array.shape[1])
    for begin in range(0, len(array), rows):
        wrong = numpy.argwhere(~numpy.isfinite(array[begin:begin + rows]))
        if len(wrong):
            row, column = begin + int(wrong[0, 0]), int(wrong[0, 1])
            raise _refuse("vectors", f"expected finite numbers, found {array[row, column]} in row {row}, column {column}")
    return array


def _no_number(array: Any) -> str:
    """What an array of objects holds that is no number."""
    for place, value in enumerate(array.flat if array.ndim == 2 else ()):
        try:
            float(value)
        except (TypeError, ValueError):
            return f"{str(value)[:40]!r} in row {place // array.shape[1]}, column {place % array.shape[1]}"
    return f"{array.dtype} of shape {list(array.shape)}"


def _values(what: str, given: Any, count: int) -> List[Any]:
    """A list of `count` values: None where one is missing, else a str, bool, int or float."""
    if isinstance(given, (str, bytes, set, frozenset)) or not hasattr(given, "__len__"):
        raise TypeError(f"FeatureTable: {what}: expected one value for each row, found {type(given).__name__} {str(given)[:40]!r}")
    if getattr(getattr(given, "dtype", None), "kind", "") in ("M", "m"):
        raise TypeError(f"FeatureTable: {what}: expected texts or numbers, found {given.dtype}; convert the times, by astype(str) or to years or hours")
    if isinstance(given, torch.Tensor):
        given = given.detach().cpu()
    if getattr(given, "ndim", 1) != 1:
        raise _refuse(what, f"expected one value for each row, found shape {list(given.shape)}")
    values = next((getattr(given, own)() for own in ("tolist", "to_pylist") if hasattr(given, own)), None)
    values = list(given) if values is None else values
    if len(values) != count:
        raise _refuse(what, f"expected {count} values, one for each row, found {len(values)}")
    return [_value(what, row, value) for row, value in enumerate(values)]


def _value(what: str, row: int, value: Any) -> Any:
    if value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):  # marks of pandas and numpy for what is missing
        return None
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            raise _refuse(what, f"expected a finite number, found {value} in row {row}")
        return value
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise _refuse(what, f"expected texts in UTF-8, found {value[:40]!r} in row {row}; decode them") from None
    if not isinstance(value, str):
        raise TypeError(f"FeatureTable: {what}: expected texts or numbers, found {type(value).__name__} in row {row}; convert the values, as by str()")
    return value or None


def _known_values(what: str, given: Any, count: int) -> List[Any]:
    """`_values` by the rule of a CSV's columns: None also for texts that stand for a missing value, and texts that differ only in blanks or
    Unicode form are one. Warnings count them."""
    values = _values(what, given, count)
    texts = [value if isinstance(value, str) else "" for value in values]
    if not any(texts):
        return values
    notes: List[str] = []
    title = re.sub(r"^.* '(.*)'$", r"\1", what)
    texts = _csv_table.without_missing(title, _csv_table.spellings(title, texts, notes), notes)
    _csv_table.note_case(title, texts, notes)
    for note in notes:
        warn(note)
    return [text or None if isinstance(value, str) else value for value, text in zip(values, texts)]


def _require_one_kind(what: str, values: List[Any]) -> None:
    """Refuses 1 beside '1', and True beside 1: in a CSV they are one value, among objects two."""
    first: Dict[str, int] = {}
    for row, value in enumerate(values):
        if value is not None:
            first.setdefault("yes or no" if isinstance(value, bool) else "text" if isinstance(value, str) else "number", row)
    if len(first) > 1:
        (a, row), (b, other) = list(first.items())[:2]
        raise _refuse(what, f"expected names or numbers, found both: {a} {values[row]!r} in row {row}, {b} {values[other]!r} in row {other}; "
                            "convert the column to one of them, as by [str(value) for value in values]")


def _whole_numbers(values: List[Any]) -> List[Any]:
    """Integers in place of 1.0, 2.0 and missing values, which pandas uses for integers with gaps."""
    if any(isinstance(value, float) for value in values) and \
            all(value is None or (not isinstance(value, (bool, str)) and float(value).is_integer()) for value in values):
        return [None if value is None else int(value) for value in values]
    return values


def _without_minus_one(what: str, values: List[Any], groups: bool = True) -> List[Any]:
    """-1 among integers means unknown, as in the program. A column of -1 and 1 alone is rejected, as there, or two names where it makes no
    groups."""
    if all(value is None or (isinstance(value, int) and not isinstance(value, bool)) for value in values):
        if {value for value in values if value is not None} == {-1, 1}:
            if not groups:
                return [None if value is None else str(value) for value in values]
            raise _refuse(what, "holds only -1 and 1, and -1 is unknown; write 0 and 1, or names")
        return [None if value == -1 else value for value in values]
    return values


def _field(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _columns(given: Any, default: str) -> Dict[Any, Any]:
    """Names and values of one array, a dict of them or a frame."""
    if given is None:
        return {}
    if _is_frame(given):
        return _frame_columns(default, given)
    name = getattr(given, "name", None)
    return {name if isinstance(name, str) and name not in _RESERVED else default: given}


def _is_frame(value: Any) -> bool:
    return isinstance(value, Mapping) or (hasattr(value, "columns") and hasattr(value, "to_numpy"))


def _frame_columns(what: str, given: Any) -> Dict[Any, Any]:
    """Names and values of a pandas DataFrame or of columns by name."""
    if not _is_frame(given):
        raise TypeError(f"FeatureTable: {what}: expected a pandas DataFrame or columns by name, found {type(given).__name__}")
    names = list(given if isinstance(given, Mapping) else given.columns)
    if len(set(names)) < len(names):
        raise _refuse(what, f"expected columns of different names, found '{max(names, key=names.count)}' {max(map(names.count, names))} times")
    return {name: given[name] for name in names}


def _taken_out(columns: Dict[Any, Any], names: Sequence[str]) -> Any:
    """Vectors [n, D] from the D columns of these names, which are removed from `columns`."""
    import numpy
    for name in names:
        require_name("FeatureTable: vectors: the frame has no column", name, columns)
    parts = [numpy.asarray(columns[name]) for name in names]
    if any(part.ndim != 1 or len(part) != len(parts[0]) for part in parts):
        raise _refuse("vectors", f"expected columns of one length, found shapes {', '.join(str(list(part.shape)) for part in parts[:4])}")
    for name in set(names):
        del columns[name]
    return numpy.column_stack(parts)


def _names_columns(given: Any, columns: Mapping[Any, Any], count: int) -> bool:
    """Whether these are names of columns, not values of rows."""
    if isinstance(given, str):
        return True
    texts = isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given)
    return texts and (all(name in columns for name in given) or len(given) != count)


def _from_columns(columns: Dict[Any, Any], *, label: Optional[str], bias: Any, split: Any, path: Any, group: Any = None) -> Dict[str, Any]:
    """Keywords of FeatureTable. bias, group, split and path: names of columns, values, or None for the columns of these names, if there are any.
    All other columns are `columns`, except those whose names are reserved."""
    used = list(_RESERVED)
    count = max((len(values) for values in columns.values() if hasattr(values, "__len__")), default=0)

    def taken(what: str, given: Any, *defaults: str) -> Any:
        name = next((one for one in defaults if one in columns), None) if given is None else given
        if not isinstance(name, str):
            return name
        require_name(f"FeatureTable: {what}: the frame has no column", name, columns)
        used.append(name)
        return columns[name]

    bias = "bias" if bias is None and "bias" in columns else bias
    if _names_columns(bias, columns, count):
        bias = {name: taken("bias", name) for name in ([bias] if isinstance(bias, str) else bias)}
    group = "group" if group is None and "group" in columns and "group" not in used else group
    if _names_columns(group, columns, count):
        group = {name: taken("group", name) for name in ([group] if isinstance(group, str) else group)}
    found = {"labels": taken("label", label), "bias": bias, "group": group, "split": taken("split", split, "split"), "paths": taken("path", path, *_NAMES)}
    return {**found, "columns": {name: values for name, values in columns.items() if name not in used}}


@contextlib.contextmanager
def _new_file(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A path to write to, which then replaces `path`: the file may be mapped, even by the table that is written."""
    target = pathlib.Path(os.path.realpath(path))
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _state(file: pathlib.Path) -> Optional[Tuple[int, ...]]:
    """What differs after a file was replaced or written; None if it is gone."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class FeatureTable:
    """Vectors ``[n, D]`` with the label, the bias labels, the split and the path of each row.

    Args:
        vectors: ``[n, D]`` finite numbers: an array, a tensor on any device, or a pandas DataFrame, whose columns label, bias, group, split and
            path are used as such. What has an index of pandas is put into the order of the first index.
        labels: ``[n]`` classes, as names or integers. Missing values (None, NaN, ``pandas.NA``, "", what is masked, texts such as
            "nan", "NA", "#VALUE!" and "-", and -1 among integers) are unknown labels.
            A pandas DataFrame or a dict of columns is used as by `from_frame`; `bias`, `split` and `paths` may then name its columns.
        bias: ``[n]`` bias labels, or several columns of them in a dict or a DataFrame. Columns with non-integer numbers count as numeric.
        split: ``[n]`` values "train", "valid" or "test"; None puts all rows into train.
        paths: ``[n]`` unique names of the rows.
        group: ``[n]`` values that rows share which belong together, such as patients or bursts, or several columns of them; rows without a
            value stand alone. `debias.fix` keeps them in one fold.
        columns: other columns, in a dict or a DataFrame, which `debias.audit` searches.

    Example::

        >>> table = debias.FeatureTable(torch.randn(4, 8), ["cat", "dog", "cat", "dog"], bias=["in", "out", None, "out"])
        >>> len(table), table.classes, table.bias
        (4, ['cat', 'dog'], ('bias',))
    """

    def __init__(self, vectors: Any, labels: Any = None, *, bias: Any = None, split: Any = None, paths: Any = None, columns: Any = None,
                 group: Any = None) -> None:
        order = _rows.RowOrder("FeatureTable")
        vectors = order.placed("vectors", vectors)
        if _is_frame(vectors) and not isinstance(vectors, Mapping):
            vectors, own = _rows.split_frame("FeatureTable: vectors", vectors, _WAY_OUT)
            given = {"label": labels, "bias": bias, "group": group, "split": split, **dict.fromkeys(_NAMES, paths)}
            for name in own:
                if given[name] is not None or (name != "label" and _is_frame(labels)):
                    raise _refuse("vectors", f"the frame has a column '{name}', which is given too; drop it from the frame of the vectors")
            labels, bias, group, split = (own.get(name, given[name]) for name in ("label", "bias", "group", "split"))
            paths = next((own[name] for name in _NAMES if name in own), paths)
        self.vectors = _vectors(vectors)
        self._source: Tuple[Any, pathlib.Path, Any] = (None, pathlib.Path(), None)  # the mapped array, its .npy file and the file's state
        count, others = len(self.vectors), {}
        labels = order.placed("labels", labels)
        if _is_frame(labels):
            found = _from_columns(_frame_columns("labels", labels), label="label", bias=bias, split=split, path=paths, group=group)
            labels, bias, group, split, paths, others = (found[name] for name in ("labels", "bias", "group", "split", "paths", "columns"))
        bias, group, split, paths, columns = (order.placed(what, given) for what, given in (
            ("bias", bias), ("group", group), ("split", split), ("paths", paths), ("columns", columns)))
        self.labels: Optional[List[Any]] = None if labels is None else self._checked_labels("labels", _known_values("labels", labels, count))
        self._warn_of_codes("label", self.labels or [], "class")
        self.split = None if split is None else self._checked_split(_values("split", split, count))
        self.paths = None if paths is None else self._checked_paths(_values("paths", paths, count))
        biases, groups = _columns(bias, "bias"), _columns(group, "group")
        self.columns: Dict[str, List[Any]] = {}
        for what, given in (("bias", biases), ("group", groups), ("columns", self._readable(others, count)), ("columns", _columns(columns, "column"))):
            for name, values in given.items():
                self._add(what, name, _known_values(f"{what} '{name}'", values, count))
        self.bias: Tuple[str, ...] = tuple(biases)
        self.group: Tuple[str, ...] = tuple(groups)
        self.numeric: Tuple[str, ...] = tuple(name for name, values in self.columns.items() if name not in self.group and any(isinstance(value, float) for value in values))

    @staticmethod
    def _readable(columns: Mapping[Any, Any], count: int) -> Dict[Any, Any]:
        """Columns of a frame that nobody named, without those that hold neither texts nor finite numbers."""
        readable, left_out = {}, []
        for name, values in columns.items():
            try:
                _require_one_kind(name, _values(name, values, count))
                readable.update({name: values} if isinstance(name, str) and name.strip() else {})
            except (TypeError, ValueError):
                if hasattr(values, "__len__") and len(values) != count:
                    raise
            if name not in readable:
                left_out.append(str(name))
        if left_out:
            one = len(left_out) == 1
            warn(f"FeatureTable: {'1 column is' if one else f'{len(left_out)} columns are'} left out, since {'it holds' if one else 'they hold'} "
                 f"neither names nor finite numbers: {', '.join(left_out[:5])}{', ...' if len(left_out) > 5 else ''}")
        return readable

    def _add(self, what: str, name: Any, values: List[Any]) -> None:
        if not isinstance(name, str) or not name.strip() or name != name.strip() or "," in name or "\n" in name:
            raise _refuse(what, f"expected names of columns without commas and blanks around, found {name!r}")
        if name in _RESERVED:
            raise _refuse(what, f"column '{name}': the name is that of labels, split or paths; give it another one")
        if name in self.columns:
            raise _refuse(what, f"column '{name}' is given twice")
        _require_one_kind(f"{what} '{name}'", values)
        values = _whole_numbers(values)
        self.columns[name] = values if any(isinstance(value, float) for value in values) else _without_minus_one(f"{what} '{name}'", values, what == "bias")
        self._warn_of_codes(name, self.columns[name], {"bias": "bias label", "group": "group"}.get(what, ""))

    @staticmethod
    def _warn_of_codes(title: str, values: List[Any], what: str) -> None:
        note = _csv_table.note_on_codes(title, values, what) if what else None
        if note:
            warn(note)

    @staticmethod
    def _checked_labels(what: str, values: List[Any]) -> List[Any]:
        _require_one_kind(what, values)
        values = _without_minus_one(what, _whole_numbers(values))
        for row, value in enumerate(values):
            if isinstance(value, float):
                raise _refuse(what, f"expected names or whole numbers, found {value} in row {row}")
        return values

    @staticmethod
    def _checked_split(values: List[Any]) -> List[str]:
        for row, value in enumerate(values):
            if value not in _SPLITS:
                near = difflib.get_close_matches(str(value), _SPLITS, n=1)
                raise _refuse("split", f"expected train, valid or test, found {value!r} in row {row}" + (f"; did you mean '{near[0]}'?" if near else ""))
        return values

    @staticmethod
    def _checked_paths(values: List[Any]) -> List[str]:
        seen: Dict[str, int] = {}
        for row, value in enumerate(values):
            if value is None:
                raise _refuse("paths", f"expected a name for each row, found none in row {row}")
            name = _field(value)
            if name in seen:
                raise _refuse("paths", f"expected different names, found '{name}' in rows {seen[name]} and {row}")
            seen[name] = row
        return list(seen)

    @classmethod
    def from_frame(cls, frame: Any, vectors: Any, *, label: Optional[str] = "label", bias: Union[str, Sequence[str], None] = None,
                   split: Optional[str] = None, path: Optional[str] = None, group: Union[str, Sequence[str], None] = None) -> "FeatureTable":
        """Makes a table from a pandas DataFrame, or a dict of columns. Columns that are not named here become `columns`.

        `vectors` is an array [n, D] in the order of the frame's rows, or the names of the columns with the vectors. `bias`, `group`, `split`
        and `path` are by default the columns of these names, if there are any. `path` may also be filenames or id.
        """
        columns = _frame_columns("frame", _rows.RowOrder("FeatureTable").placed("frame", frame))
        if isinstance(vectors, (list, tuple)) and len(vectors) > 0 and all(isinstance(name, str) for name in vectors):
            vectors = _taken_out(columns, vectors)
        biases = bias if bias is None or isinstance(bias, str) else list(bias)
        return cls(vectors, **_from_columns(columns, label=label, bias=biases, split=split, path=path,
                                            group=group if group is None or isinstance(group, str) else list(group)))

    @classmethod
    def load(cls, vectors: _Path, csv: Optional[_Path] = None, *, key: Optional[str] = None, label: Optional[str] = None,
             bias: Union[str, Sequence[str], None] = None, group: Union[str, Sequence[str], None] = None) -> "FeatureTable":
        """Reads vectors from .npy, .safetensors or .parquet (with pandas and pyarrow), and their other columns from a CSV.

        Vectors in .npy and .safetensors are memory-mapped and cannot be changed. The CSV is by default F.names.csv or F.csv next to F.npy.
        The rows of another CSV are joined by the names that one of these two has; without them, row i belongs to vector i, with a warning.
        `key` names the tensor, or Parquet's column of lists, if there are several. `label`, `bias` and `group` name columns, by default
        label, bias and group. A Parquet file may have these columns too. Without a column of lists, all its remaining columns are the vectors.
        """
        file = pathlib.Path(vectors)
        biases = ["bias"] if bias is None else [bias] if isinstance(bias, str) else list(bias)
        groups = group if group is None else [group] if isinstance(group, str) else list(group)
        state = _state(file)
        array, own = _vector_files.read(file, key, {*_RESERVED, *biases, *(groups or ["group"]), *([label] if label is not None else [])})
        beside = [file.with_suffix(".names.csv"), file.with_suffix(".csv")]
        if csv is None and (label or "label") in own:
            return cls(array, **_from_columns(own, label=label or "label", bias=None if bias is None else biases, split=None, path=None,
                                               group=groups))
        own_csv = next((path for path in beside if path.exists()), None)
        rows = pathlib.Path(csv) if csv is not None else own_csv
        if rows is None:
            raise FileNotFoundError(f"{file}: no {beside[1].name} beside it; name the rows' CSV")
        table = cls(array, **_from_csv(rows, own_csv, label, None if bias is None else biases, groups))
        if file.suffix == ".npy" and table.vectors.base is array and array.flags.c_contiguous:
            table._source = (table.vectors, file, state)
        return table

    def _labelled_by(self, name: str) -> "FeatureTable":
        """The same table with the values of a column as labels."""
        require_name("FeatureTable: label: the table has no column", name, self.columns)
        other = copy.copy(self)
        other.labels = self._checked_labels(f"label '{name}'", self.columns[name])
        other.columns = {column: values for column, values in self.columns.items() if column != name}
        other.bias, other.numeric, other.group = (tuple(column for column in own if column != name)
                                                  for own in (self.bias, self.numeric, self.group))
        return other

    @property
    def classes(self) -> List[str]:
        """Names of the classes, in the order of their numbers if all are integers, else sorted."""
        known = {value for value in self.labels or [] if value is not None}
        return [_field(value) for value in (sorted(known) if all(isinstance(value, int) for value in known) else sorted(known, key=_field))]

    def label_numbers(self) -> torch.Tensor:
        """int64 [n]: each label's place in `classes`, or -1 if it is unknown."""
        places = {name: place for place, name in enumerate(self.classes)}
        return torch.tensor([-1 if value is None else places[_field(value)] for value in self.labels or [None] * len(self)])

    def group_numbers(self) -> Optional[torch.Tensor]:
        """int64 [n]: rows with the same values in the columns `group` have one number, a row without a value has -1. None without groups."""
        if not self.group:
            return None
        places: Dict[Tuple[Any, ...], int] = {}
        rows = zip(*(self.columns[name] for name in self.group))
        return torch.tensor([-1 if None in values else places.setdefault(values, len(places)) for values in rows])

    def save(self, path: _Path) -> Tuple[pathlib.Path, pathlib.Path]:
        """Writes PATH.npy and PATH.csv, which `debias audit`, `fix`, `eval` and `prior` read; returns both paths."""
        import numpy
        base = pathlib.Path(path)
        base = base.with_suffix("") if base.suffix in (".npy", ".csv") else base
        vectors, rows = base.with_name(base.name + ".npy"), base.with_name(base.name + ".csv")
        with _new_file(vectors) as part, open(part, "wb") as file:
            numpy.save(file, numpy.ascontiguousarray(self.vectors))
        self._save_rows(rows)
        return vectors, rows

    def _save_rows(self, path: pathlib.Path) -> None:
        with _new_file(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self._fields())
            writer.writerows(zip(*(map(_field, values) for values in self._fields().values())))

    def _files(self, folder: pathlib.Path) -> Tuple[pathlib.Path, pathlib.Path]:
        """The files of `save` in a new folder; vectors that an unchanged .npy file holds are a link to it."""
        vectors, rows = folder / "table.npy", folder / "table.csv"
        mapped, file, state = self._source
        if self.vectors is not mapped or mapped.flags.writeable or _state(file) != state:
            return self.save(folder / "table")
        vectors.symlink_to(file.absolute())
        self._save_rows(rows)
        return vectors, rows

    def _fields(self) -> Dict[str, List[Any]]:
        """The CSV's columns. There is always a path: the row's number if the rows have no names."""
        out: Dict[str, List[Any]] = {"path": self.paths if self.paths is not None else [str(row) for row in range(len(self))]}
        if self.labels is not None:
            out["label"] = self.labels
        if self.split is not None:
            out["split"] = self.split
        return {**out, **self.columns}

    def frame(self) -> Any:
        """Everything except the vectors, as a pandas DataFrame."""
        from ._frames import frame_of
        return frame_of(self._fields())

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        counts = {split: self.split.count(split) for split in _SPLITS if split in self.split} if self.split is not None else {"train": len(self)}
        shown = ", ".join(f"{count} {split}" for split, count in counts.items())
        return (f"FeatureTable({len(self)} x {self.vectors.shape[1]}, {len(self.classes)} classes, {shown}"
                + (f", bias {', '.join(self.bias)}" if self.bias else "") + ")")


class _Rows:
    """A CSV's columns by title, those of `debias embed` with the names of classes and bias labels in the place of their numbers."""

    def __init__(self, path: pathlib.Path) -> None:
        self.table = _csv_table.CsvTable(path)
        self.places = {title: place for place, title in enumerate(self.table.titles) if title and self.table.find(title) is not None}
        self.guarded = "filenames" in self.places  # embed guards text that a spreadsheet would run
        self.embedded = {"labels", "class"} <= set(self.places)
        self.order = list(range(len(self.table.rows)))
        self.notes = list(self.table.notes)

    def texts(self, place: int) -> List[str]:
        fields = [_csv_table.plain_text(field) for field in self.table.fields(place)]
        return [re.sub(r"^'(?=[=+\-@\t\r])", "", field) for field in fields] if self.guarded else fields

    def paths(self, place: int) -> List[str]:
        return [_csv_table.normal_path(re.sub(r"^'(?=[=+\-@\t\r])", "", field.strip(" \t"))) for field in self.table.fields(place)]

    def name_place(self) -> Optional[int]:
        return next((self.places[title] for title in _NAMES if title in self.places), None)

    def column(self, place: int, names: bool = False) -> List[Any]:
        if self.guarded:
            found = _csv_table.typed(self.table.titles[place], self.texts(place))
        else:
            found = self.table.names(place) if names else self.table.column(place)
        self.notes += found.notes
        return [found.values[row] for row in self.order]

    def labels(self, label: Optional[str]) -> Optional[List[Any]]:
        if self.embedded and label in (None, "label", "labels", "class"):
            return self._named("class", "labels")
        place = next((self.places[title] for title in (("label", "labels") if label is None else (label,)) if title in self.places), None)
        return None if place is None else self.column(place, names=True)

    def _named(self, names: str, numbers: str) -> List[Any]:
        found = [name or ("" if number == "-1" else number) for name, number in zip(self.texts(self.places[names]), self.texts(self.places[numbers]))]
        return [found[row] or None for row in self.order]


def _joined(rows: _Rows, beside: pathlib.Path, names: Optional[int], taken: Sequence[int]) -> Tuple[Optional[int], Optional["_Rows"]]:
    """Puts rows into the order of the vectors, whose names are in the file beside them. Returns the column of names, and that file's rows if
    they have been joined."""
    own = _Rows(beside)
    place = own.name_place()
    if place is None:
        return names, None
    samples = _csv_table.SampleNames(own.paths(place))
    _csv_table.repeated_rows(own.table, own.table.titles[place], samples.names)
    kind = lambda title: "path" if title == "filenames" else title
    if names is None or kind(rows.table.titles[names]) != kind(own.table.titles[place]):
        found = samples.named_by(rows.table, taken)
        if found is None:
            return names, None
        title = rows.table.titles[found]
        rows.notes.append(f"column '{title}' names the vectors" if title else "the column without a title names the vectors")
        names = found
    paths = rows.paths(names)
    repeated = _csv_table.repeated_rows(rows.table, rows.table.titles[names], paths)
    kept = [row for row in range(len(paths)) if row not in set(repeated)]
    order, notes = _csv_table.joined(rows.table.path, [(paths[row], rows.table.lines[row]) for row in kept], samples)
    missing = [sample for sample, row in enumerate(order) if row is None]
    if missing:
        shown = ", ".join(f"'{samples.names[sample]}' (vector {sample})" for sample in missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise ValueError(f"{rows.table.path}: column '{rows.table.titles[names]}' lacks {len(missing)} of {len(order)} names of the vectors: {shown}; "
                         f"its first is '{paths[0]}': write the same names")
    if repeated:
        notes.append(_csv_table.note_on_repeated(rows.table, repeated))
    rows.notes += notes
    rows.order = [kept[row] for row in order if row is not None]
    return names, own


def _require_same_labels(rows: _Rows, labels: Sequence[Any], own: _Rows, paths: Sequence[str]) -> None:
    """Refuses classes of two files that have the same names and are not the same."""
    known = own.labels(None)
    if known is None or None in known or not {_field(value) for value in labels} <= {_field(value) for value in known}:
        return
    different = [place for place, (value, other) in enumerate(zip(labels, known)) if _field(value) != _field(other)]
    if different:
        first = different[0]
        raise ValueError(f"{rows.table.path}: {len(different)} of {len(known)} labels are not those of {own.table.path}, the first of '{paths[first]}': "
                         f"'{_field(labels[first])}' and '{_field(known[first])}'; correct one, or choose the column with label=")


def _from_csv(path: pathlib.Path, beside: Optional[pathlib.Path], label: Optional[str], bias: Optional[Sequence[str]],
              group: Optional[Sequence[str]] = None) -> Dict[str, Any]:
    """Keywords of FeatureTable from a CSV, by the program's rules (_csv_table.py), in the order of the vectors. `beside`: the CSV next to them."""
    rows = _Rows(path)
    for what in ([] if label is None or rows.embedded and label in ("label", "labels", "class") else [label]) + list(bias or []) + list(group or []):
        require_name(f"{path}: no column", what, rows.places)
    roles = {label or "label", "labels", "split", *(bias if bias is not None else ["bias"]), *(("class", "bias_name") if rows.embedded else ())}
    names, own = rows.name_place(), None
    is_beside = beside is None or path.resolve() == beside.resolve()
    if not is_beside and beside is not None:
        names, own = _joined(rows, beside, names, [rows.places[title] for title in roles if title in rows.places])
    every = None if names is None else rows.paths(names)
    if own is None:
        for row in [] if every is None else _csv_table.repeated_rows(rows.table, rows.table.titles[names], every):
            raise ValueError(f"{path}: line {rows.table.lines[row]}: '{every[row]}' is given twice")
        if not is_beside or beside is None:
            rows.notes.append(f"{len(rows.order)} rows of {path} are taken in the order of the vectors, which have no such names")
    paths = None if every is None else [every[row] for row in rows.order]
    labels = rows.labels(label)
    if own is not None and labels is not None and label is None:
        _require_same_labels(rows, labels, own, paths or [])
    split = [rows.texts(rows.places["split"])[row] for row in rows.order] if "split" in rows.places and label != "split" else None
    if split is None and own is not None and "split" in own.places and set(own.texts(own.places["split"])) <= set(_SPLITS):
        split = own.texts(own.places["split"])
        rows.notes.append(f"{path} has no column split; splits are those of {own.table.path}")
    biases = list(bias) if bias is not None else ["bias"] if "bias" in rows.places else []
    groups = list(group) if group is not None else ["group"] if "group" in rows.places and "group" not in (*biases, label) else []
    skipped = {*_RESERVED, label or "label", "labels", *biases, *groups, *(("class", "bias_name", "bias") if rows.embedded else ())}
    found = {name: rows._named("bias_name", "bias") if rows.embedded and name == "bias" and "bias_name" in rows.places else rows.column(rows.places[name])
             for name in biases}
    others = {title: rows.column(place) for title, place in rows.places.items() if title not in skipped and place != names}
    own_groups = {name: rows.column(rows.places[name]) for name in groups}
    for note in rows.notes:
        warn(note)
    return {"labels": labels, "split": split, "paths": paths, "bias": found, "group": own_groups, "columns": others}
