"""CSV files by the cases that the program's reader has (tests/golden/tables/cases.json)."""

import json
import pathlib

import pytest

from debias import _csv_table

CASES = json.loads((pathlib.Path(__file__).parents[2] / "tests/golden/tables/cases.json").read_text(encoding="utf-8"))


def in_text(value):
    return value if value is None or isinstance(value, str) else str(value)


@pytest.mark.parametrize("case", CASES["columns"], ids=lambda case: case["what"])
def test_columns(case, tmp_path):
    data = case["csv"].encode(case.get("encoding", "utf-8"))
    (tmp_path / "c.csv").write_bytes(data[:len(data) - case.get("cut", 0)])
    if "error" in case:
        with pytest.raises(ValueError) as refused:
            _csv_table.CsvTable(tmp_path / "c.csv")
        assert case["error"] in str(refused.value)
        return
    table = _csv_table.CsvTable(tmp_path / "c.csv")
    assert table.titles == list(case["columns"])
    notes = list(table.notes)
    for place, wanted in enumerate(case["columns"].values()):
        column = table.column(place)
        assert column.kind == wanted["kind"]
        if column.kind == "numbers":
            assert column.values == [None if value is None else float(value) for value in wanted["values"]]
        else:
            assert [in_text(value) for value in column.values] == wanted["values"]
        notes += column.notes
    assert notes == case["notes"]


@pytest.mark.parametrize("case", CASES["codes"], ids=lambda case: ",".join(case["values"]))
def test_codes_and_words_for_unknown(case):
    assert (_csv_table.note_on_codes("x", _csv_table.typed("x", case["values"]).values, case["of"]) or "") == case["note"]


@pytest.mark.parametrize("case", CASES["joins"], ids=lambda case: case["what"])
def test_joins(case):
    samples, rows = _csv_table.SampleNames(case["samples"]), [(name, 2 + row) for row, name in enumerate(case["rows"])]
    if "error" in case:
        with pytest.raises(ValueError) as refused:
            _csv_table.joined("c.csv", rows, samples)
        assert case["error"] in str(refused.value)
        return
    of_sample, notes = _csv_table.joined("c.csv", rows, samples)
    assert of_sample == case["of_sample"] and notes == case["notes"]
