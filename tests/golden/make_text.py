#!/usr/bin/env python3
"""tests/golden/make_text.py DATA: what NLTK makes of the shared texts, as hashes in tests/golden/text.

Run with nltk 3.10 and numpy in an environment of its own; DATA holds sentences/, msrp/ and novels/. Each text is a line of the sentence sets
(every third), or a rough sentence of a novel (every fifth of every fourth book): a paragraph's lines joined, `_` left out, cut behind . ! ?
and what closes quotes. Of each the FNV-1a hash (32 bits) of its words, a line end behind each, goes into NAME.npy. The hashes say nothing of
the texts. tests/text/tokeniser_test.cpp forms the same.
"""

import pathlib
import re
import sys

import nltk
import numpy as np
from nltk.tokenize.destructive import NLTKWordTokenizer

SETS = ["rt-polarity.pos", "rt-polarity.neg", "subj.subjective", "subj.objective", "custrev.pos", "custrev.neg", "mpqa.pos", "mpqa.neg",
        "TREC.train", "TREC.test"]


def fnv(words):
    value = 0x811C9DC5
    for byte in "".join(word + "\n" for word in words).encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def windows_1252(data):
    return "".join(bytes([b]).decode("cp1252", errors="ignore") or chr(b) for b in data)


def set_lines(root):
    for name in SETS:
        for line in (root / "sentences" / name).read_bytes().split(b"\n"):
            yield windows_1252(line.split(b" ", 1)[-1] if name.startswith("TREC") else line)
    for name in ["msr_paraphrase_train.txt", "msr_paraphrase_test.txt"]:
        for line in (root / "msrp" / name).read_text("utf-8-sig").split("\n"):
            yield line.split("\t")[-1]


def rough_sentences(path):
    for paragraph in re.split(r"\n\s*\n", path.read_text("utf-8-sig")):
        text = " ".join(line.strip() for line in paragraph.split("\n")).replace("_", "").strip()
        yield from (part for part in re.sub(r"([.!?][\"')]*) ", "\\1\n", text).split("\n") if part.strip())


def main():
    root, out = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent / "text"
    out.mkdir(exist_ok=True)
    tokenizer = NLTKWordTokenizer()
    texts = {"sets": list(set_lines(root))[::3],
             "novels": [s for book in sorted((root / "novels").glob("*.txt"))[::4] for s in list(rough_sentences(book))[::5]]}
    for name, own in texts.items():
        np.save(out / f"{name}.npy", np.array([fnv(tokenizer.tokenize(text)) for text in own], dtype=np.uint32))
        print(f"{name}: {len(own)} texts, nltk {nltk.__version__}")


if __name__ == "__main__":
    main()
