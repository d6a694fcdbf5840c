"""CSV files, by the rules of the program: debias/data/readers/csv_table.h, table_column.h and row_names.h say them, and
tests/golden/tables/cases.json has their cases, which the tests of both read."""

import csv
import io
import math
import pathlib
import posixpath
import re
import unicodedata
from typing import Any, Dict, Iterable, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

from ._inputs import refuse_stand_in

_MISSING = frozenset(("nan", "NaN", "-nan", "-NaN", "NA", "N/A", "n/a", "<NA>", "#NA", "#N/A", "#N/A N/A", "null", "NULL", "None", "NaT", "1.#IND",
                      "-1.#IND", "1.#QNAN", "-1.#QNAN", "\\N", "#NV", "#GETTING_DATA"))
_NOTHING, _IN_BRACKETS = frozenset(("nan", "null", "n/a", "n.a.")), frozenset(("na", "blank", "empty", "missing"))
_SPREADSHEET_ERROR = re.compile(r"Err:\d{3}|#(?!\d)[A-Z0-9/_\u0080-\U0010ffff]{2,}[!?]", re.ASCII)
_BLANK_SIGN = re.compile("-+|\\?+|\\.+|\u2012+|\u2013+|\u2014+|\u2015+|\u2212+|\u2026+")
_SIGNS = re.compile(r"[!-/:-@\[-`{-~]+")
_CODES = (99, 255, 999, 9999, 65535, 99999)
_PLACEHOLDERS = frozenset((
    "unknown", "unk", "missing", "none", "other", "others", "na", "n.a", "nil", "undefined", "unspecified", "not available", "not known",
    "not applicable", "not specified", "not recorded", "not given", "no data", "nodata", "no value", "tbd", "tba", "todo", "blank", "empty", "unlabeled",
    "unlabelled", "unassigned", "undetermined", "indeterminate", "unbekannt", "keine angabe", "inconnu", "desconocido", "sconosciuto", "misc", "nan", "null",
    "-1", "-9", "-99", "-999"))
_NO_WIDTH = "\u200b\u2060\ufeff"
_BLANK = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_INTEGER = re.compile(r"[-+]?\d{1,18}", re.ASCII)
_PRINTED = re.compile(r"(0|-?[1-9]\d*|\+[1-9]\d*)(\.0+)?", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_COMMA = re.compile(r"[-+]?\d+,\d+", re.ASCII)
_PERCENT = re.compile(b"%([2-9a-fA-F][0-9a-fA-F])")
_ENDING = re.compile(r"(?<=[^/])\.(?=[0-9]*[A-Za-z])[0-9A-Za-z]{1,5}$")


class Column(NamedTuple):
    kind: str  # nothing, integers, numbers or names
    values: List[Any]  # None where unknown
    notes: List[str]


def plain_text(text: str) -> str:
    """Composed characters, without blanks at the ends, with one space in the place of others, and without characters of no width."""
    outer = _BLANK.pattern[1:-2] + _NO_WIDTH
    text = re.sub(f"^[{outer}]+|[{outer}]+$", "", unicodedata.normalize("NFC", text))
    return _BLANK.sub(" ", re.sub(f"[{_NO_WIDTH}]", "", text)) if not text.isascii() or _BLANK.search(text) else text


def normal_path(path: str) -> str:
    """ "a/b.png" of "./a//b.png" and "x/../a/b.png". """
    return posixpath.normpath(path) if path else path


def fields_such_as(count: int, first: str) -> str:
    return f"1 field, '{first}', is" if count == 1 else f"{count} fields such as '{first}' are"


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"


def _lower(text: str) -> str:
    return "".join(one.casefold() if len(one.casefold()) == 1 else one.lower() if len(one.lower()) == 1 else one
                   for one in unicodedata.normalize("NFC", text))


def spellings(title: str, fields: Sequence[str], notes: List[str]) -> List[str]:
    plain = [plain_text(field) for field in fields]
    trimmed = [field.strip(" \t") for field in fields]
    as_written = {value for value, field in zip(plain, trimmed) if value == field}
    others = [(field, value) for value, field in zip(plain, trimmed) if value != field and value in as_written and value]
    if others:
        first = next(one for one in plain if one in {value for _, value in others})
        field = next(field for field, value in others if value == first)
        notes.append(f"column '{title}': {fields_such_as(len(others), field)} read as '{first}', from which "
                     f"{'it differs' if len(others) == 1 else 'they differ'} only in blanks or Unicode form")
    return plain


def _inside_brackets(word: str) -> str:
    return word[1:-1] if len(word) > 2 and word[0] + word[-1] in ("()", "[]", "{}", "<>") else word


def is_missing_word(field: str) -> bool:
    """As table_column.h says."""
    if field in _MISSING or _SPREADSHEET_ERROR.fullmatch(field):
        return True
    word = _lower(field)
    inside = _inside_brackets(word)
    titled = re.match("N[a-z]", field)  # Nan and Null are names of people
    return (inside in _NOTHING and not titled) or (inside != word and inside in _IN_BRACKETS)


def _is_missing(field: str) -> bool:
    return bool(field) and (is_missing_word(field) or _BLANK_SIGN.fullmatch(field) is not None)


def without_missing(title: str, fields: Sequence[str], notes: List[str]) -> List[str]:
    """The fields, with an empty one in the place of each that is a missing value."""
    distinct = set(fields)
    if any(_SIGNS.fullmatch(field) and not _BLANK_SIGN.fullmatch(field) for field in distinct):  # beside + and !, - and ? are values
        missing = {field for field in distinct if field and is_missing_word(field)}
    else:
        missing = set(filter(_is_missing, distinct))
    words = [field for field in fields if field in missing]
    if words:
        notes.append(f"column '{title}': {fields_such_as(len(words), words[0])} read as unknown")
    return ["" if field in missing else field for field in fields]


def note_case(title: str, values: Sequence[str], notes: List[str]) -> None:
    counts: Dict[str, int] = {}
    for value in values:
        if value:
            counts[value] = counts.get(value, 0) + 1
    first: Dict[str, str] = {}
    alike: List[Tuple[str, str]] = []
    for value in sorted(counts, key=lambda text: text.encode()):
        if _lower(value) in first:
            alike.append((first[_lower(value)], value))
        else:
            first[_lower(value)] = value
    if alike:
        a, b = alike[0]
        more = f", as do {len(alike) - 1} more" if len(alike) > 1 else ""
        notes.append(f"column '{title}': '{a}' ({_counted(counts[a], 'field')}) and '{b}' ({_counted(counts[b], 'field')}) differ only in case "
                     f"and are two values{more}; write one if they are one")


def _without_zeros(field: str) -> str:
    return re.sub(r"\.0+$", "", field)


def _integer(field: str) -> Optional[int]:
    whole = _without_zeros(field)
    if len(whole) > 18 or not _INTEGER.fullmatch(whole) or (whole != field and not _PRINTED.fullmatch(whole)):
        return None
    return int(whole)


def _is_number(field: str) -> bool:
    return _NUMBER.fullmatch(field) is not None and math.isfinite(float(field))


def typed(title: str, fields: Sequence[str], notes: Iterable[str] = ()) -> Column:
    """Values of fields that are plain_text: int, float or str."""
    notes = list(notes)
    fields = without_missing(title, fields, notes)
    known = [field for field in fields if field]
    if not known:
        return Column("nothing", [None] * len(fields), notes)
    integers = [_integer(field) for field in known]
    signs = set(integers) == {-1, 1}  # no and yes
    if None not in integers and (signs or not all(map(_PRINTED.fullmatch, map(_without_zeros, known)))):
        if signs or all(field == _without_zeros(field) for field in known):
            return Column("names", [field if field and (signs or _integer(field) != -1) else None for field in fields], notes)
    elif None not in integers:
        with_zeros = [field for field in known if field != _without_zeros(field)]
        if with_zeros and len(with_zeros) < len(known):
            notes.append(f"column '{title}': {fields_such_as(len(with_zeros), with_zeros[0])} read as '{_without_zeros(with_zeros[0])}'")
        return Column("integers", [_integer(field) if field and _integer(field) != -1 else None for field in fields], notes)
    elif all(map(_is_number, known)):
        return Column("numbers", [float(field) if field else None for field in fields], notes)
    note_case(title, fields, notes)
    return Column("names", [field or None for field in fields], notes)


def note_on_codes(title: str, values: Sequence[Any], what: str) -> Optional[str]:
    """A sentence on integers and words that others write for an unknown class."""
    known = [value for value in values if value is not None]
    distinct, more = set(known), 0
    if not known or distinct == {"-1", "1"} or any(isinstance(value, (bool, float)) for value in distinct):
        return None
    if all(isinstance(value, int) for value in distinct):
        least, second, largest = min(distinct), max(distinct - {max(distinct)}, default=0), max(distinct)
        is_code = largest in _CODES and (second < 254 if largest == 255 else len(distinct) > 1 and 2 * second < largest)
        code = least if least < -1 else largest if is_code else None
    else:
        found = sorted((value for value in distinct if _inside_brackets(_lower(str(value))) in _PLACEHOLDERS), key=lambda value: str(value).encode())
        code, more = found[0] if found and len(distinct) > 1 else None, len(found) - 1
    if code is None:
        return None
    others = f", as {'is' if more == 1 else 'are'} {more} more" if more > 0 else ""
    return f"column '{title}': {code} is read as {what} {code} ({_counted(sum(value == code for value in known), 'field')}){others}; " \
           "where it means unknown, leave the field empty"


def _refuse(path: Any, text: str, line: int = 0) -> NoReturn:
    raise ValueError(f"{path}: {f'line {line}: ' if line else ''}{text}")


def _decoded(path: Any, data: bytes) -> str:
    order = "utf-16-le" if data[:2] == b"\xff\xfe" or (len(data) > 1 and data[0] and not data[1]) else \
        "utf-16-be" if data[:2] == b"\xfe\xff" or (len(data) > 1 and not data[0] and data[1]) else "utf-8"
    try:
        return data.decode(order).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if order != "utf-8":
            _refuse(path, "has half a character of UTF-16; save the file as UTF-8" if error.start + 1 < len(data) - 1 or len(data) % 2 == 0
                    else "ends within a character of UTF-16; save the file as UTF-8")
        _refuse(path, "text that is not UTF-8; save the file as UTF-8", 1 + data[:error.start].count(b"\n"))


def _separator(text: str) -> str:
    """What the first record has most of outside of quotes."""
    counts, quoted, begun = {",": 0, ";": 0, "\t": 0, "|": 0}, False, False
    for one in text:
        quoted ^= one == '"'
        if one == "\n" and not quoted and begun:
            break
        begun = begun or one not in "\r\n"
        if not quoted and one in counts:
            counts[one] += 1
    return max(counts, key=lambda one: counts[one])


class CsvTable:
    """The titles and rows of a CSV. `notes` says what was left out."""

    def __init__(self, path: Any) -> None:
        self.path, self.notes = path, []  # type: Any, List[str]
        refuse_stand_in(path, "a CSV")
        text = _decoded(path, pathlib.Path(path).read_bytes())
        if "\r" in text.rstrip("\r") and "\n" not in text:
            _refuse(path, "its lines end with CR alone; save the file with the line ends LF or CRLF")
        said = re.match(r"sep=(.)\r?\n", text)
        self._separator = said[1] if said else _separator(text)
        records = self._records(text[said.end():] if said else text, 1 if said else 0)
        if not records:
            _refuse(path, "is empty")
        titles = [plain_text(title) for title in records[0][1]]
        if self._separator != ",":
            name = {";": "semicolons", "\t": "tabs", "|": "bars"}.get(self._separator, f"characters '{self._separator}'")
            self.notes.append(f"{name} separate the fields")
        empty = [line for line, fields in records[1:] if len(titles) > 1 and not any(map(plain_text, fields))]
        if empty:
            self.notes.append(f"{_counted(len(empty), 'row')} without values {'is' if len(empty) == 1 else 'are'} left out, the first in line {empty[0]}")
        rows = [record for record in records[1:] if len(titles) == 1 or any(map(plain_text, record[1]))]
        kept, untitled = [], 0
        for place, title in enumerate(titles):
            values = [plain_text(fields[place]) for _, fields in rows] if not title or title.startswith("Unnamed: ") else []
            if not title and rows and not any(values):
                untitled += 1
            elif values and _is_index(title, values):
                self.notes.append(f"column '{title}' numbers the rows and is left out" if title else
                                  f"column {place + 1}, without a title, numbers the rows and is left out")
            else:
                kept.append(place)
        if untitled:
            self.notes.append(f"{_counted(untitled, 'column')} without a title and values {'is' if untitled == 1 else 'are'} left out")
        self.titles = [titles[place] for place in kept]
        self.lines = [line for line, _ in rows]
        self.rows = [[fields[place] for place in kept] for _, fields in rows]

    def _records(self, text: str, before: int) -> List[Tuple[int, List[str]]]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self._separator, strict=True)
        records: List[Tuple[int, List[str]]] = []
        line = 1 + before
        try:
            for fields in reader:
                if fields:
                    while records and len(fields) > len(records[0][1]) and not plain_text(fields[-1]):
                        fields.pop()
                    records.append((line, fields))
                line = reader.line_num + 1 + before
        except csv.Error as error:
            _refuse(self.path, "a quoted field does not end" if "unexpected end" in str(error) else
                    "text follows a quoted field" if "expected after" in str(error) else str(error), line)
        for begin, fields in records:
            if len(fields) != len(records[0][1]):
                _refuse(self.path, f"{len(fields)} fields, expected {len(records[0][1])}" +
                        ("; its first line begins with # and gives no titles: leave comments out" if records[0][1][0].startswith("#") else ""), begin)
        return records

    def find(self, title: str) -> Optional[int]:
        if self.titles.count(title) > 1:
            _refuse(self.path, f"column '{title}' is given twice", 1)
        return self.titles.index(title) if title in self.titles else None

    def fields(self, place: int) -> List[str]:
        """As they are written."""
        return [row[place] for row in self.rows]

    def names(self, place: int) -> Column:
        """As `column`, with decimals as names."""
        column = self.column(place)
        if column.kind != "numbers":
            return column
        fields = [plain_text(field) for field in self.fields(place)]
        decimals = [field for field, value in zip(fields, column.values) if value is not None and _integer(field) is None]
        note = f"column '{self.titles[place]}': {fields_such_as(len(decimals), decimals[0])} read as " \
               f"{'a name, not as a number' if len(decimals) == 1 else 'names, not as numbers'}"
        return Column("names", [None if value is None else field for field, value in zip(fields, column.values)], [*column.notes, note])

    def column(self, place: int) -> Column:
        title, notes = self.titles[place], []  # type: str, List[str]
        fields = spellings(title, self.fields(place), notes)
        commas = [field for field in fields if not _is_missing(field) and field and not _INTEGER.fullmatch(field)] if self._separator != "," else []
        if commas and all(map(_COMMA.fullmatch, commas)):
            notes.append(f"column '{title}': {'1 field' if len(commas) == 1 else f'{len(commas)} fields'} such as '{commas[0]}' "
                         f"{'is' if len(commas) == 1 else 'are'} read with a decimal point")
            fields = [field.replace(",", ".") for field in fields]
        return typed(title, fields, notes)


def _is_index(title: str, values: Sequence[str]) -> bool:
    if not all(map(_INTEGER.fullmatch, values)):
        return False
    if re.fullmatch(r"Unnamed: \d+", title):
        return True
    first = int(values[0])
    return not title and first in (0, 1) and [int(value) for value in values] == list(range(first, first + len(values)))


def repeated_rows(table: CsvTable, title: str, names: Sequence[str]) -> List[int]:
    """Rows that repeat an earlier one, field for field. Rows of one name that differ are an error, as is an empty name."""
    first: Dict[str, int] = {}
    repeated = []
    for row, name in enumerate(names):
        if not name:
            _refuse(table.path, f"no {title} is given", table.lines[row])
        if first.setdefault(name, row) == row:
            continue
        if table.rows[row] != table.rows[first[name]]:
            _refuse(table.path, f"'{name}' is given twice, first in line {table.lines[first[name]]}", table.lines[row])
        repeated.append(row)
    return repeated


def note_on_repeated(table: CsvTable, repeated: Sequence[int]) -> str:
    one = len(repeated) == 1
    return f"{'1 row repeats an earlier one and is' if one else f'{len(repeated)} rows repeat earlier ones and are'} left out, " \
           f"{'it is' if one else 'the first'} in line {table.lines[repeated[0]]}"


_CHANGES = {"form": "Unicode form, blanks or slashes", "case": "case", "folder": "folder", "ending": "ending", "signs": "percent signs", "kind": "ending",
            "tail": "folder"}
_INNER_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".heic", ".dcm", ".nii", ".npy")


def _changed(name: str, change: str) -> str:
    if change == "signs":
        name = _PERCENT.sub(lambda sign: bytes([int(sign[1], 16)]), name.encode()).decode(errors="replace")
    text = normal_path(plain_text(name).replace("\\", "/"))
    text = text if change == "form" else _lower(text)
    text = text.split("?")[0] if change == "signs" else text
    if change in ("ending", "kind", "tail"):
        text = _ENDING.sub("", text)
        text = _ENDING.sub("", text) if change != "ending" and text.endswith(_INNER_ENDINGS) else text
    return text


def _common_parts(a: str, b: str) -> int:
    """The number of their last parts that are the same."""
    pairs = list(zip(reversed(a.split("/")), reversed(b.split("/"))))
    return next((place for place, (one, other) in enumerate(pairs) if one != other), len(pairs))


def _ends_with(whole: str, end: str) -> bool:
    return whole == end or (bool(end) and whole.endswith("/" + end))


class SampleNames:
    """Samples by name, as row_names.h finds them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._places = {name: place for place, name in reversed(list(enumerate(self.names)))}
        self._by_change: Dict[str, Dict[str, List[int]]] = {}

    def find(self, name: str) -> Optional[int]:
        return self._places.get(name)

    def find_changed(self, name: str, change: str) -> List[int]:
        """Samples that a name means after a change: none, one, or the first two."""
        by_part = change not in ("form", "case")
        if change not in self._by_change:
            places: Dict[str, List[int]] = {}
            for place, sample in enumerate(self.names):
                key = _changed(sample, change)
                places.setdefault(key.rsplit("/", 1)[-1] if by_part else key, []).append(place)
            self._by_change[change] = places
        own = _changed(name, change)
        part = own.rsplit("/", 1)[-1]
        found: List[int] = []
        most = 1 if re.match(r"[/\\~]|[^:]*:[/\\]", name) else 2  # parts that fit
        for place in self._by_change[change].get(part if by_part else own, []) if part else []:
            sample = self.names[place]
            other = _changed(sample, change)
            if change == "tail":
                parts = _common_parts(own, other)
                found = [] if parts > most else found
                found += [place] if parts >= most else []
                most = max(most, parts)
                continue
            if by_part and not (_ends_with(own, other) or _ends_with(other, own)):
                continue
            if change == "ending" and _ENDING.search(name) and _ENDING.search(sample):
                continue
            found.append(place)
        return found[:2]

    def named_by(self, table: CsvTable, taken: Iterable[int]) -> Optional[int]:
        """The column whose fields name the most samples, at least half of them or from half of the rows."""
        for change in (None, *_CHANGES):
            counts = {}
            for place in set(range(len(table.titles))) - set(taken):
                exact = lambda name: [found] if (found := self.find(normal_path(name))) is not None else []
                found = [exact(name) if change is None else self.find_changed(name, change) for name in table.fields(place)]
                counts[place] = len({places[0] for places in found if len(places) == 1})
            best = max(sorted(counts), key=lambda place: counts[place], default=None)
            if best is not None and counts[best] and 2 * counts[best] >= min(len(self.names), len(table.rows)):
                return best
        return None


def joined(path: Any, rows: Sequence[Tuple[str, int]], samples: SampleNames) -> Tuple[List[Optional[int]], List[str]]:
    """For each sample the place of the row (name, line) that names it, and notes on names that differ."""
    of_sample: List[Optional[int]] = [None] * len(samples.names)
    changed, notes = set(), []

    def take(sample: int, row: int) -> None:
        before = of_sample[sample]
        if before is not None:
            _refuse(path, f"{rows[row][0]} is the same image as {rows[before][0]} of line {rows[before][1]}", rows[row][1])
        of_sample[sample] = row

    rest = []
    for row, (name, _) in enumerate(rows):
        sample = samples.find(name)
        if sample is None:
            rest.append(row)
        else:
            take(sample, row)
    for change, what in _CHANGES.items():
        unnamed, taken = [], []
        changed = set() if change in ("kind", "tail") else changed  # a weak likeness does not dispute a stronger one
        for row in rest:
            found = samples.find_changed(rows[row][0], change)
            if len(found) == 2 and change not in ("kind", "tail"):
                _refuse(path, f"{rows[row][0]} may be {samples.names[found[0]]} or {samples.names[found[1]]}; write the name with its folder", rows[row][1])
            if len(found) != 1 or (of_sample[found[0]] is not None and found[0] not in changed):
                unnamed.append(row)
                continue
            take(found[0], row)
            changed.add(found[0])
            taken.append((rows[row][0], samples.names[found[0]]))
        rest = unnamed
        if taken:
            one = len(taken) == 1
            notes.append(f"{'1 name of a row differs' if one else f'{len(taken)} names of rows differ'} in {what} from what "
                         f"{'it names' if one else 'they name'}, such as '{taken[0][0]}' for '{taken[0][1]}'; {'it is' if one else 'they are'} joined")
    return of_sample, notes
