"""One value or vector for each row, in lists, arrays, tensors, Series and frames: what of them is missing, and in which order they are."""

import re
from typing import Any, List, Mapping, Sequence, Tuple

from ._inputs import warn

ROLES = ("label", "bias", "group", "split", "path", "filenames", "id")
_NO_FEATURES = ("labels", "class", "target", "filename", "file_name", "image", "image_id", "patient", "patient_id", "unnamed: 0")


class RowOrder:
    """Puts what has an index of pandas into the order of the first that has one."""

    def __init__(self, name: str) -> None:
        self._name, self._what, self._index = name, "", None  # type: str, str, Any
        self._without = ""  # what has rows and no index

    def placed(self, what: str, given: Any) -> Any:
        if isinstance(given, Mapping):
            return {name: self.placed(f"{what} '{name}'", values) for name, values in given.items()}
        if not (hasattr(given, "iloc") and hasattr(given, "index")):
            if not self._without and hasattr(given, "__len__") and not isinstance(given, str):
                self._without = what
                self._warn_of_shuffled_index()
            return given
        own, index = self._index, given.index
        if own is None:
            self._what, self._index = what, index
            self._warn_of_shuffled_index()
            return given
        if index is own or index.equals(own) or len(index) != len(own):
            return given
        order = index.get_indexer(own) if own.is_unique and index.is_unique else None
        if order is not None and (order >= 0).all():
            moved = (order != range(len(order))).nonzero()[0]
            warn(f"{self._name}: {what}: the index is that of {self._what} in another order, in {len(moved)} rows, the first '{own[moved[0]]}': rows "
                 "are joined by index; reset_index(drop=True) takes them by position")
            return given.iloc[order]
        other = next((place for place, (a, b) in enumerate(zip(own, index)) if a != b), 0)
        first = f"the first in row {other}, '{index[other]}' for '{own[other]}'"
        if any(type(one).__name__ == "RangeIndex" and one[0] == 0 and one.step == 1 for one in (own, index)):
            warn(f"{self._name}: {what}: the index is not that of {self._what}, {first}: rows are taken by position")
            return given
        why = "has rows of one name" if set(own) == set(index) else f"has other rows than that of {self._what}"
        raise ValueError(f"{self._name}: {what}: the index {why}, {first}: give both the same index, or reset_index(drop=True) to take rows by position")

    def _warn_of_shuffled_index(self) -> None:
        """An index of row numbers that are not in their order, beside rows that have none, may be that of shuffled or sorted rows."""
        if self._index is None or not self._without or not getattr(self._index.dtype, "kind", "") in "iu":
            return
        numbers = self._index.tolist()
        moved = [place for place, number in enumerate(numbers) if place != number]
        if moved and sorted(numbers) == list(range(len(numbers))):
            warn(f"{self._name}: {self._what}: the index has the row numbers in another order, in {len(moved)} rows, the first {numbers[moved[0]]} in row "
                 f"{moved[0]}, beside {self._without} without an index: rows are taken by position; sort_index() puts them in the order of the numbers")


def _kinds(frame: Any) -> List[str]:
    """A letter for each column: f, i, u and b as numpy has them, others for what is no number."""
    return [getattr(dtype, "kind", None) or str(dtype)[0].lower() for dtype in frame.dtypes]


def feature_columns(what: str, names: Sequence[Any], kinds: Sequence[str], way_out: str) -> None:
    """Refuses columns of a frame of vectors that are no features, by their name or type, and warns of those that may be none."""

    def refuse(strays: List[Any], why: str) -> None:
        one = len(strays) == 1
        raise ValueError(f"{what}: {'1 column' if one else f'{len(strays)} columns'} of {len(names)}, {'' if one else 'the first '}'{strays[0]}', "
                         f"{why[0] if one else why[1]}: {way_out}")

    half = len(names) / 2
    named = [name for name in names if str(name).lower() in _NO_FEATURES or str(name).lower() in ROLES]
    if named:
        refuse(named, ("is by its name no feature", "are by their names no features"))
    if sum(kind in "fiu" for kind in kinds) >= half:
        others = [name for name, kind in zip(names, kinds) if kind not in "fiu"]
        if others:
            refuse(others, ("holds no numbers", "hold no numbers"))
    stems = [re.sub(r"\d+", "0", str(name)) for name in names]
    numbered = [stem for stem in stems if "0" in stem]
    common = max(set(numbered), key=numbered.count, default="")
    if len(numbered) > 1 and numbered.count(common) > half:
        unlike = [name for name, stem in zip(names, stems) if "0" not in stem]
        if unlike:
            first = next(name for name, stem in zip(names, stems) if stem == common)
            refuse(unlike, (f"is not numbered as '{first}' is", f"are not numbered as '{first}' is"))
    whole = [name for name, kind in zip(names, kinds) if kind in "iu"]
    if whole and kinds.count("f") > half:
        one = len(whole) == 1
        warn(f"{what}: {'1 column' if one else f'{len(whole)} columns'} of {len(names)}, {'' if one else 'the first '}'{whole[0]}', "
             f"{'holds whole numbers and is' if one else 'hold whole numbers and are'} taken as {'a feature' if one else 'features'}; otherwise {way_out}")


def split_frame(what: str, frame: Any, way_out: str) -> Tuple[Any, Any]:
    """The columns of a frame that are vectors, and the others by name: those of ROLES."""
    names = list(frame.columns)
    rows = [name for name in names if name in ROLES]
    vectors = frame[[name for name in names if name not in rows]] if rows else frame
    if len(vectors.columns):
        feature_columns(what, list(vectors.columns), _kinds(vectors), way_out)
    return vectors, {name: frame[name] for name in rows}
