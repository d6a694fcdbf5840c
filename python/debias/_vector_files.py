"""Vectors [n, D] in files: .npy and .safetensors, which are memory-mapped, and .parquet, which pandas reads."""

import importlib.util
import pathlib
import zipfile
from typing import Any, Collection, Dict, List, Optional, Tuple

from . import _rows, _safetensors
from ._inputs import refuse_stand_in, require_name

SUFFIXES = (".npy", ".safetensors", ".parquet")


def _npy(file: pathlib.Path, key: Optional[str]) -> Any:
    import numpy
    if key is not None:
        raise ValueError(f"{file}: key: expected None, since an .npy file has one array, found '{key}'")
    try:
        array = numpy.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file}: expected an .npy file of numbers ({error})") from None
    if not isinstance(array, numpy.ndarray):
        raise ValueError(f"{file}: expected an .npy file of one array, found an archive of {len(array.files)}; save the one to use by numpy.save")
    return array


def _frame(file: pathlib.Path) -> Any:
    try:
        import pandas
        return pandas.read_parquet(file)
    except ImportError:
        missing = " and no ".join(name for name in ("pandas", "pyarrow") if importlib.util.find_spec(name) is None)
        raise ImportError(f"{file}: expected pandas and pyarrow to read Parquet, found no {missing or 'usable pyarrow'}; pip install pandas pyarrow, "
                          "or give the vectors as .npy or .safetensors") from None
    except ValueError as error:  # those of pyarrow too
        raise ValueError(f"{file}: expected a Parquet file of a table ({error})") from None


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1


def _stacked(file: pathlib.Path, name: str, values: List[Any]) -> Any:
    """[n, D] from n lists of D numbers."""
    import numpy
    kinds = {f"a list of {len(value)}" if _is_list(value) else type(value).__name__ for value in values}
    if len(kinds) != 1 or not _is_list(values[0]):
        raise ValueError(f"{file}: column '{name}': expected lists of numbers, each of one length, found {' and '.join(sorted(kinds)[:3]) or 'no row'}")
    return numpy.stack([numpy.asarray(value) for value in values])


def _parquet(file: pathlib.Path, key: Optional[str], rows: Collection[str]) -> Tuple[Any, Dict[str, Any]]:
    """The vectors and the other columns. The vectors are one column of lists, or else all columns except `rows`."""
    import numpy
    frame = _frame(file)
    if key is not None:
        require_name(f"{file}: key: no column", key, list(frame.columns))
    lists = [key] if key is not None else [name for name in frame.columns if len(frame) and _is_list(frame[name].iloc[0])]
    if len(lists) > 1:
        raise ValueError(f"{file}: expected one column of lists, or its name in key=, found {len(lists)}: {', '.join(map(str, lists[:5]))}")
    own = [name for name in frame.columns if name not in lists and (lists or name in rows)]
    if lists:
        return _stacked(file, lists[0], frame[lists[0]].tolist()), {name: frame[name] for name in own}
    numbers = [name for name in frame.columns if name not in own]
    for name in numbers:
        if getattr(frame[name].dtype, "kind", "O") not in "iuf":
            raise ValueError(f"{file}: expected vectors in columns of numbers or in one of lists, found {frame[name].dtype} in column '{name}'; name "
                             "the columns of the vectors: FeatureTable.from_frame(pandas.read_parquet(...), [...])")
    _rows.feature_columns(f"{file}: vectors", numbers, [frame[name].dtype.kind for name in numbers],
                          "name the columns of the vectors: FeatureTable.from_frame(pandas.read_parquet(...), [...])")
    return numpy.ascontiguousarray(frame[numbers]), {name: frame[name] for name in own}


def read(file: pathlib.Path, key: Optional[str], rows: Collection[str]) -> Tuple[Any, Dict[str, Any]]:
    """The vectors in a file, and its other columns by name.

    key: the tensor or the column of lists, if the file has several. rows: names of columns that are not vectors.
    """
    if file.suffix in SUFFIXES:
        refuse_stand_in(file, f"a file {file.suffix}", of_torch=file.suffix == ".npy")  # an archive of arrays has a message of its own
    if file.suffix == ".npy":
        return _npy(file, key), {}
    if file.suffix == ".safetensors":
        return _safetensors.mapped(file, key), {}
    if file.suffix == ".parquet":
        return _parquet(file, key, rows)
    raise ValueError(f"{file}: expected a file of vectors, .npy, .safetensors or .parquet, found '{file.suffix}'")
