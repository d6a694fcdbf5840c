"""The program's commands in Python: train, evaluate, embed, report, audit, fix. They run the program and return its results."""

import contextlib
import json
import os
import pathlib
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _program, _yaml
from ._inputs import require_name
from ._program import Progress, ProgramError
from ._vector_files import SUFFIXES
from .feature_table import FeatureTable
from .results import Audit, Evaluation, Evaluations, FixedFeatures, Report
from .run_folder import Run

_Path = Union[str, "os.PathLike[str]"]
_Source = Union[FeatureTable, str, "os.PathLike[str]"]


def _overrides(given: Mapping[str, Any], before: str = "") -> List[str]:
    """`train={"epochs": 2}` as the word train.epochs=2; a list is set as a whole."""
    words: List[str] = []
    for name, value in given.items():
        if isinstance(value, Mapping) and value:
            words += _overrides(value, f"{before}{name}.")
        else:
            words.append(f"{before}{name}={_yaml.flow(value)}")
    return words


def _path(command: str, what: str, value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{command}: {what}: expected a path, found {type(value).__name__}")
    text = os.fspath(value)
    return text if not text.startswith("-") else os.path.join(".", text)


def _json(words: Sequence[str], progress: Progress) -> Dict[str, Any]:
    said = _program.output_of([*words, "--json"], progress)
    try:
        return dict(json.loads(said))
    except ValueError:
        raise ProgramError(f"debias {words[0]}: expected a JSON object, found {said[:80]!r}; the program is of another version", 1) from None


def _names(what: str, given: Any, columns: Sequence[str], owner: str) -> List[str]:
    """One name or several, each of `columns`, which are those of `owner`."""
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, (list, tuple)) else None
    if not names or not all(isinstance(name, str) for name in names):
        found = "none" if names == [] else f"{type(given).__name__} {str(given)[:40]}"
        raise TypeError(f"{what}: expected the name of a column, or a list of names, found {found}")
    for name in names:
        require_name(f"{what}: {owner} no column", name, columns)
    return names


def _bias_words(command: str, table: FeatureTable, bias: Any, numeric: Any) -> List[str]:
    """Arguments that name the bias columns: those given, or the table's own."""
    biases = list(table.bias) if bias is None else _names(f"{command}: bias", bias, list(table.columns), "the table has")
    if numeric is None:
        numbers = [name for name in biases if name in table.numeric]
    else:
        numbers = [] if isinstance(numeric, (list, tuple)) and not numeric else _names(f"{command}: numeric", numeric, biases, "the bias has")
    return [*(["--bias", ",".join(biases)] if biases else []), *(["--numeric", ",".join(numbers)] if numbers else [])]


@contextlib.contextmanager
def _table_words(table: FeatureTable) -> Iterator[List[str]]:
    """Arguments that name the files of a table, which exist within this context. Messages name the files without their folder."""
    with tempfile.TemporaryDirectory(prefix="debias-") as folder:
        vectors, rows = table._files(pathlib.Path(folder))
        words = ["--embeddings", str(vectors), "--csv", str(rows)]
        try:
            yield words
        except ProgramError as error:
            raise ProgramError(error.message.replace(folder + os.sep, ""), error.exit_code) from None


@contextlib.contextmanager
def _source_words(command: str, source: Any, *, with_bias: bool = True, bias: Any = None, numeric: Any = None) -> Iterator[List[str]]:
    if isinstance(source, FeatureTable):
        if source.labels is None:
            raise ValueError(f"{command}: the table has no labels; give FeatureTable(..., labels=)")
        columns = _bias_words(command, source, bias, numeric) if with_bias else []
        with _table_words(source) as words:
            yield [*words, *columns]
    else:
        for name, value in (("bias", bias), ("numeric", numeric)):
            if value is not None:
                raise TypeError(f"{command}: {name}: expected None with a run, which has bias labels of its own, found {str(value)[:40]!r}; "
                                "give a FeatureTable")
        yield [_path(command, "source", source)]


@contextlib.contextmanager
def _page(out: Optional[_Path]) -> Iterator[pathlib.Path]:
    """The path of the program's page: the requested one, or a temporary one."""
    if out is not None:
        yield pathlib.Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="debias-") as folder:
        yield pathlib.Path(folder) / "page.html"


def train(recipe: Union[Mapping[str, Any], _Path], *, resume: bool = False, overwrite: bool = False, progress: Progress = True,
          **overrides: Any) -> Run:
    """Trains as `debias train` does and returns the run.

    Args:
        recipe: a YAML file, the name of a recipe (``"demo/infonce"``), a run, or the recipe itself as a dict.
        resume: continue the run in the output folder.
        overwrite: start again in an existing run folder.
        progress: True prints a line for each epoch, False prints nothing, and a function is called with each line.
        overrides: keys of the recipe, such as ``seed=2``, ``train={"epochs": 5}`` or ``**{"train.epochs": 5}``. A dict changes only the keys
            that it names. None stands for the word none.

    An interrupt stops training with a checkpoint, and ``resume=True`` continues from it. If training fails, ``ProgramError`` has the
    program's message and exit code.
    """
    words = [*(["--resume"] if resume else []), *(["--overwrite"] if overwrite else []), *_overrides(overrides)]
    if not isinstance(recipe, Mapping):
        return Run(_json(["train", _path("train", "recipe", recipe), *words], progress)["folder"])
    with tempfile.TemporaryDirectory(prefix="debias-") as folder:
        file = pathlib.Path(folder) / "recipe.yaml"
        file.write_text("\n".join(f"{name}: {_yaml.flow(value)}" for name, value in recipe.items()) + "\n", encoding="utf-8")
        try:
            return Run(_json(["train", str(file), *words], progress)["folder"])
        except ProgramError as error:
            raise ProgramError(error.message.replace(str(file), "recipe"), error.exit_code) from None


def evaluate(source: _Source, protocols: Union[str, Sequence[str]] = "knn", *, checkpoint: Optional[str] = None, progress: Progress = False,
             **options: Any) -> Evaluations:
    """Evaluates a run, a folder of `fix` or a FeatureTable, as `debias eval` does, and returns the results by protocol.

    Args:
        source: a run or its path, a checkpoint, or a FeatureTable with training rows and valid or test rows.
        protocols: ``"knn"``, ``"knn,groups"`` or a list of names.
        checkpoint: last, best or previous, if the source is a run.
        options: options of protocols, such as ``knn={"k": 50}``.
    """
    names = protocols if isinstance(protocols, str) else ",".join(protocols)
    more = ["--checkpoint", checkpoint] if checkpoint is not None else []
    with _source_words("evaluate", source) as words:
        found = _json(["eval", names, *words, *more, *_overrides(options)], progress)
    return Evaluations({name: Evaluation.of(name, one) for name, one in found["protocols"].items()})


def embed(run: _Path, out: Optional[_Path] = None, *, data: Optional[str] = None, root: Optional[_Path] = None, layer: str = "encoder",
          checkpoint: Optional[str] = None, progress: Progress = False, **options: Any) -> FeatureTable:
    """Computes the features of the run's test set, or of the data set `data`, as `debias embed` does.

    Args:
        run: a run or its path.
        out: .npy file to write, by default RUN/embeddings.npy; the names are written next to it.
        data: data set to embed, with its folder `root`; by default the run's test set.
        layer: encoder (its pooled output) or projection (the head's output).
        checkpoint: last, best or previous.
        options: options of the data set, such as ``split="train"``.
    """
    file = pathlib.Path(run) / "embeddings.npy" if out is None else pathlib.Path(out)
    if file.suffix != ".npy":
        raise ValueError(f"embed: out: expected a name that ends in .npy, found '{file}'; give out='{file.with_suffix('.npy')}'")
    words = ["embed", _path("embed", "run", run), "--out", str(file), "--layer", layer]
    for name, value in (("--data", data), ("--root", None if root is None else os.fspath(root)), ("--checkpoint", checkpoint)):
        words += [name, value] if value is not None else []
    _json([*words, *_overrides(options)], progress)
    return FeatureTable.load(file)


def report(*runs: _Path, out: Optional[_Path] = None, progress: Progress = False) -> Report:
    """Makes a page about one or several runs, as `debias report` does. A notebook displays it.

    Args:
        runs: run folders.
        out: path of the page; by default RUN/report.html for one run, and no file for several.
    """
    if not runs:
        raise TypeError("report: expected runs, found none")
    paths = [_path("report", "run", run) for run in runs]
    kept = pathlib.Path(paths[0]) / "report.html" if out is None and len(paths) == 1 and os.path.isdir(paths[0]) else out
    with _page(kept) as page:
        found = _json(["report", *paths, "--out", str(page)], progress)
        return Report(found, page.read_text(encoding="utf-8"), None if kept is None else pathlib.Path(kept))


def _audited(source: Any, csv: Optional[_Path], key: Optional[str], label: Optional[str]) -> Any:
    """The table of a file of vectors; a table as it is, with the labels of another column if one is named; or a folder."""
    if isinstance(source, FeatureTable):
        for name, value in (("csv", csv), ("key", key)):
            if value is not None:
                raise TypeError(f"audit: {name}: expected None with a FeatureTable, found {str(value)!r}; it belongs to FeatureTable.load")
        return source if label is None else source._labelled_by(label)
    if os.path.splitext(_path("audit", "source", source))[1] in SUFFIXES:
        return FeatureTable.load(source, csv, key=key, label=label)
    for name, value in (("csv", csv), ("key", key), ("label", label)):
        if value is not None:
            raise TypeError(f"audit: {name}: expected None with a folder of images, found {str(value)!r}; labels= names its CSV")
    return source


def audit(source: _Source, csv: Optional[_Path] = None, *, labels: Optional[_Path] = None, key: Optional[str] = None, label: Optional[str] = None,
          columns: Optional[Sequence[str]] = None, group: Union[str, Sequence[str], None] = None, split: Optional[str] = None, seed: int = 0,
          expect: Union[str, Sequence[str]] = (), out: Optional[_Path] = None, accept: Optional[str] = None, bias_out: Optional[_Path] = None,
          progress: Progress = False) -> Audit:
    """Reports which properties of images, files or columns go with the class, as `debias audit` does.

    Args:
        source: a folder of class folders, a FeatureTable (its columns and directions are audited), or a file for `FeatureTable.load`.
        csv, key: arguments of `FeatureTable.load` for a file of vectors.
        label: column with the class, for a table or a file; by default the table's labels.
        labels: CSV with the column path, for a folder of images.
        columns: columns to audit; by default all.
        group: columns that name what belongs together, such as bursts or patients; by default they are looked for.
        split: split to audit; by default train.
        expect: properties that are legitimate; they are reported, but not as alarms.
        out: HTML page to write, with images that have each property and images that have not.
        accept, bias_out: a candidate, and the CSV that its values are written to as bias labels.
    """
    words = ["--seed", str(seed)]
    source = _audited(source, csv, key, label)
    if labels is not None:
        if isinstance(source, FeatureTable):
            raise TypeError("audit: labels: expected None with a FeatureTable, which has its own labels; label= names a column")
        words += ["--labels", _path("audit", "labels", labels)]
    if columns is not None:
        words += ["--columns", ",".join([columns] if isinstance(columns, str) else columns)]
    if group is not None:
        words += ["--group", ",".join([group] if isinstance(group, str) else group)]
    for name in [expect] if isinstance(expect, str) else expect:
        words += ["--expect", name]
    for name, value in (("--split", split), ("--accept", accept), ("--bias-out", None if bias_out is None else os.fspath(bias_out))):
        words += [name, value] if value is not None else []
    with _source_words("audit", source, with_bias=False) as own, _page(out) as page:
        found = _json(["audit", *own, *words, "--out", str(page)], progress)
        return Audit.of(found, page.read_text(encoding="utf-8"))


def fix(source: _Source, out: _Path, *, method: str = "auto", bias: Union[str, Sequence[str], None] = None,
        numeric: Union[str, Sequence[str], None] = None, keep: float = 0.98, seed: int = 1, threads: Optional[int] = None,
        progress: Progress = False, group: Union[str, Sequence[str], None] = None) -> FixedFeatures:
    """Corrects frozen features for their bias columns, as `debias fix` does, into the new folder `out`.

    Args:
        source: a FeatureTable, or a run, whose data sets are embedded first.
        method: auto, erm, balanced, erase, erase_balanced, fairkl or leace.
        bias: names of the table's columns to correct for; by default its `bias`.
        numeric: names of the bias columns that are numeric, not categorical; by default those with non-integer numbers.
        keep: minimum mean accuracy over groups for method auto, as a share of the plain head's.
        seed: seed of the folds.
        threads: number of CPU threads; does not change the result.
        group: names of the table's columns whose values name rows that belong together, such as patients; by default its `group`. Folds and
            intervals are of whole groups.
    """
    more = ["--threads", str(threads)] if threads is not None else []
    if isinstance(source, FeatureTable):
        groups = list(source.group) if group is None else _names("fix: group", group, list(source.columns), "the table has")
        more += ["--group", ",".join(groups)] if groups else []
    elif group is not None:
        raise TypeError(f"fix: group: expected None with a run, found {str(group)[:40]!r}; give a FeatureTable")
    with _source_words("fix", source, bias=bias, numeric=numeric) as words:
        _json(["fix", *words, "--out", _path("fix", "out", out), "--method", method, "--keep", repr(keep), "--seed", str(seed), *more], progress)
    return FixedFeatures(out)
