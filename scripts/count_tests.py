#!/usr/bin/env python3
"""scripts/count_tests.py REPORT STATUS: one plain line of counts from ctest's JUnit report; exit 1 unless all that ran passed.

A program that was not built counts as failed, whatever ctest calls it, and a STATUS other than 0 never goes with 0 failed.
"""

import sys
import xml.etree.ElementTree as xml


def counts(report):
    passed = failed = skipped = 0
    for case in xml.parse(report).getroot().iter("testcase"):
        status = case.get("status")
        message = case.find("skipped")
        if status == "run":
            passed += 1
        elif status == "disabled" or (status == "notrun" and message is not None and "SKIP" in message.get("message", "")):
            skipped += 1
        else:
            failed += 1
    return passed, failed, skipped


def main():
    report, status = sys.argv[1], int(sys.argv[2])
    try:
        passed, failed, skipped = counts(report)
    except (OSError, xml.ParseError):
        passed, failed, skipped = 0, 0, 0
    if status != 0 or passed == 0:
        failed = max(failed, 1)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
