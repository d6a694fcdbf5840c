#!/usr/bin/env python3
"""scripts/page_words.py [--update]: the words of the pages: terms that are out, sentences of more than 35 words, dates and processors.

A manual page speaks of behaviour: it has neither dates nor names of processors. Pages of results, decisions and the changelog may have them.
Code, targets of links and comments are not read. scripts/unconverted_pages.txt lists the pages that do not meet this yet. They are not
checked, and a page that meets it, or is gone, has to leave the list: --update takes it off. scripts/check_docs.py applies these rules.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNCONVERTED = "scripts/unconverted_pages.txt"
LONGEST = 35

# What is out, and what replaces it, in pages, messages and help texts.
OUT = {
    r"judg(e|es|ed|ing)": "evaluate",
    r"pictures?": "image",
    r"verbs?": "command",
    r"refus(e|es|ed|ing|als?)": "reject",
    r"mend(s|ed|ing)?": "fix",
    r"bias values?": "bias label",
    r"in force": "current",
    r"go(es)? on|going on": "resume, continue",
    r"passed over": "ignored",
    r"told apart": "distinguishable",
    r"told from": "distinguishable from",
    r"(goes|go|going) (with|against) the bias": "bias-aligned, bias-conflicting",
    r"drawn shapes": "synthetic shapes",
    r"films?": "video",
    r"in small": "reduced scale",
    r"sought": "requested",
    r"complain(s|ed|t|ts)?": "report an error",
    r"sets? aside|setting aside": "hold out",
    r"told(?! (from|apart))": "uses, knows, reports",
    r"partners?": "base loss, pair",
    r"worth": "value",
}
# The same, in pages alone.
OUT_OF_PAGES = {
    r"(goes|go|going) (with|against) (the|a|its|their) (class(es)?|labels?|candidates?|shortcut|pseudo labels?)": "correlates, agrees, conflicts",
    r"(gives?|given|giving) the class away|class is given away": "predicts the class",
    r"made folders?": "generated data set",
}


def compiled(terms):
    return [(re.compile(rf"\b({pattern})\b", re.IGNORECASE), instead) for pattern, instead in terms.items()]


TERMS = compiled(OUT)
PAGE_TERMS = compiled(OUT | OUT_OF_PAGES)
DATE = re.compile(r"\b20\d\d-[01]\d-[0-3]\d\b")
PROCESSOR = re.compile(r"\b(Intel Xeon|Xeon|EPYC|Ryzen|Sapphire Rapids|Ice Lake|Zen [1-6]|Threadripper)\b")
DIARY_ALLOWED = re.compile(r"^(docs/results|docs/reproduce|docs/decisions|docs/performance|CHANGELOG\.md)")
MEASUREMENTS = re.compile(r"^docs/(results|reproduce)")  # whose footers say in one sentence what was run where
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|eq|Fig|vs|al|cf|no|approx)\.\s")
SENTENCE_END = re.compile(r"(?<=[.!?])[)\"*_]*\s+(?=[A-Z0-9`(\"*_\[])")


def prose(text):
    """Numbered lines of prose: code, comments and targets of links are left out."""
    text = re.sub(r"<!--.*?-->", lambda found: "\n" * found.group().count("\n"), text, flags=re.DOTALL)
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith(("```", "$$"))
        hidden = fenced or fence or line.startswith("    ") and not line.lstrip().startswith(("-", "*"))
        fenced ^= fence and not re.match(r"\s*\$\$.*\$\$\s*$", line)
        line = "" if hidden else re.sub(r"(`+)[^`]+\1|\$[^$]+\$", "`x`", line)
        yield number, re.sub(r"\]\([^)]*\)|https?://\S+", "]", line)


def blocks(lines):
    """Paragraphs, list items, headings and table cells, each with the number of its first line."""
    start, words = 0, []
    for number, line in [*lines, (0, "")]:
        begins = re.match(r"\s*([-*+]|\d+\.)\s|\s*[|#>]", line)
        if words and (begins or not line.strip()):
            yield start, " ".join(words)
            words = []
        if line.lstrip().startswith("|"):
            yield from ((number, cell.strip()) for cell in re.split(r"(?<!\\)\|", line) if cell.strip())
        elif line.strip():
            start = start if words else number
            words.append(line.strip())


def long_sentences(lines):
    for number, block in blocks(lines):
        block = ABBREVIATION.sub(lambda found: found.group().replace(". ", " "), block)
        for sentence in SENTENCE_END.split(block):
            count = len([word for word in sentence.split() if re.search(r"\w", word)])
            if count > LONGEST:
                yield number, f"a sentence of {count} words, at most {LONGEST} are read well: '{sentence[:60]}...'"


def faults(name, text):
    """(line, fault) of a page; `name` is its path from the root."""
    lines = list(prose(text))
    for number, line in lines:
        for pattern, instead in PAGE_TERMS:
            if found := pattern.search(line):
                yield number, f"'{found.group()}' is out; write '{instead}'"
        if not DIARY_ALLOWED.match(name):
            for pattern, what in ((DATE, "a date"), (PROCESSOR, "a processor")):
                if found := pattern.search(line):
                    yield number, f"{what} ({found.group()}) belongs to a page of results"
    if not MEASUREMENTS.match(name):
        yield from long_sentences(lines)


def unconverted(root):
    path = root / UNCONVERTED
    return path.read_text(encoding="utf-8").split() if path.is_file() else []


def is_converted(root, name):
    return not (root / name).is_file() or not list(faults(name, (root / name).read_text(encoding="utf-8")))


def page_faults(name, text, listed):
    """Of a page that is on the list: only that it need not be. Of the generated reference, none: help_texts.py holds its sources."""
    if name.startswith("docs/reference/"):
        return []
    found = list(faults(name, text))
    if name not in listed:
        return found
    return [] if found else [(1, f"the page meets the rules now: scripts/page_words.py --update takes it off {UNCONVERTED}")]


def main():
    listed = unconverted(ROOT)
    done = [name for name in listed if is_converted(ROOT, name)]
    if "--update" in sys.argv[1:]:
        (ROOT / UNCONVERTED).write_text("".join(f"{name}\n" for name in listed if name not in done), encoding="utf-8")
    print(f"page_words: {len(listed)} pages listed, {len(done)} of them meet the rules")


if __name__ == "__main__":
    main()
