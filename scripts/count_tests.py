#!/usr/bin/env python3
"""scripts/count_tests.py REPORT GTEST_FOLDER STATUS: one plain line of counts; exit 1 unless all that ran passed.

REPORT is ctest's JUnit report. A program of GoogleTest stands in it once and has left GTEST_FOLDER/NAME.xml with its single tests. One
that was not built, or ended before it could write that, counts as one failed test, and a STATUS other than 0 never goes with 0 failed.
"""

import pathlib
import sys
import xml.etree.ElementTree as xml


def gtest_counts(report):
    passed = failed = skipped = 0
    for case in xml.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None:
            failed += 1
        elif case.get("status") != "run" or case.get("result") == "skipped":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def counts(report, folder):
    totals = [0, 0, 0]
    for case in xml.parse(report).getroot().iter("testcase"):
        ok = case.get("status") == "run"
        own = folder / f"{case.get('name')}.xml"
        found = gtest_counts(own) if own.exists() else (int(ok), int(not ok), 0)
        if not ok and found[1] == 0:
            found = (found[0], 1, found[2])  # it ended badly after its last test, or was never run
        totals = [a + b for a, b in zip(totals, found)]
    return totals


def main():
    report, folder, status = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    try:
        passed, failed, skipped = counts(report, folder)
    except (OSError, xml.ParseError):
        passed, failed, skipped = 0, 0, 0
    if status != 0 or passed == 0:
        failed = max(failed, 1)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
