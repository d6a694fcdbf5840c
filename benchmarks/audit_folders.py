#!/usr/bin/env python3
"""benchmarks/audit_folders.py run [--seeds 101,102,103,104] [--debias PROGRAM] [--work DIR] [--kinds document,screenshot,tile,micrograph]
benchmarks/audit_folders.py --tables FILE.jsonl

Draws folders of four kinds, clean and with a shortcut, and audits them. One JSON object a line; --tables counts them.

Protocol, fixed before the first run; none of the kinds was looked at when rules or thresholds were set:
  folders   240 images in groups of 1 to 4 (pages of a document, frames of a session, tiles of a scene, fields of a slide) that share
            paper, window, tone or stain. Seeds 101, 102, 103, 104 (and any that follow) have 2, 3, 4 and 6 classes, which differ in content.
            `groups.csv` names the groups: audit FOLDER --labels groups.csv --group group.
  biased    The sign is on 92 % of the groups of the first half of the classes and on 8 % of the others; clean: on half of all groups.
  signs     by odd and even seed
              document    letterhead at the top left | dark edge of the scanner on the right
              screenshot  task bar at the bottom | dark theme of the title bar
              tile        corner without data | warmer tone (a sensor): worth a look is enough
              micrograph  scale bar at the bottom right | vignette
  counted   clean: a folder with a `shortcut`. Biased: the name of the first `shortcut` (of a tone: or of the first `look` where there is no
            shortcut) begins as TRUE says. The first run counted by kind alone, which took marks at other places for the sign.
Needs numpy and Pillow, and DejaVu's fonts. The same arguments give the same images.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

CLASSES = {0: 6, 1: 2, 2: 3, 3: 4}  # by (seed - 100) % 4
TRUE = {("document", 1): ("mark, top left",), ("document", 0): ("mark, right", "colour of the right", "strip at the right"),
        ("screenshot", 1): ("mark, bottom", "colour of the bottom", "strip at the bottom"), ("screenshot", 0): ("mark, top", "colour of the top", "strip at the top"),
        ("tile", 1): ("mark, top left",), ("tile", 0): ("chroma", "casts", "tones", "colours", "tone curve"),
        ("micrograph", 1): ("mark, bottom right",), ("micrograph", 0): ("dark corners", "shading")}  # beginnings of names
WORDS = ("the of and to in a is that for it was on as with his they at be this from have or by one had not but what all were when we there "
         "can an your which their said if do will each about how up out them then she many some so these would other into has more").split()


def font(size, style=""):
    return ImageFont.truetype(f"/usr/share/fonts/truetype/dejavu/DejaVuSans{style}.ttf", size)


def smooth(numbers, height, width, scale, amount):
    small = numbers.normal(0, 1, (height // scale + 2, width // scale + 2)).astype(np.float32)
    return np.asarray(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)) * amount


def with_noise(image, numbers, deviation):
    pixels = np.asarray(image, np.float32) + numbers.normal(0, deviation, (image.height, image.width, 1))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def text(draw, r, x, y, width, lines, size=11, colour=(40, 40, 45)):
    for line in range(lines):
        words = ""
        while len(words) * size * 0.55 < width - 40:
            words += r.choice(WORDS) + " "
        draw.text((x, y + line * (size + 5)), words, font=font(size), fill=colour)


def document(r, numbers, group, k, sign, seed):
    paper = group.setdefault("paper", tuple(r.randint(236, 252) for _ in range(3)))
    image = Image.new("RGB", (380, 520), paper)
    d = ImageDraw.Draw(image)
    left, top = 38 + r.randint(-6, 6), 80 + r.randint(-8, 8)
    if k == 0:
        text(d, r, left, top, 300, r.randint(14, 24))
    elif k == 1:
        for row in range(r.randint(8, 16)):
            d.line((left, top + 22 * row, 345, top + 22 * row), fill=(90, 90, 90))
            text(d, r, left + 4, top + 22 * row + 4, 130, 1)
            d.text((290, top + 22 * row + 4), f"{r.uniform(1, 900):.2f}", font=font(11), fill=(40, 40, 45))
    elif k == 2:
        for row in range(r.randint(4, 7)):
            d.rectangle((left, top + 50 * row, left + r.randint(120, 290), top + 50 * row + 26), outline=(60, 60, 60))
            text(d, r, left, top + 50 * row - 15, 100, 1)
    elif k == 3:
        for column in (left, left + 160):
            text(d, r, column, top, 165, r.randint(18, 25), 10)
    elif k == 4:
        for row in range(r.randint(6, 12)):
            d.ellipse((left, top + 30 * row + 3, left + 6, top + 30 * row + 9), fill=(30, 30, 30))
            text(d, r, left + 16, top + 30 * row, r.randint(120, 280), 1)
    else:
        text(d, r, left, top + r.randint(200, 240), 300, r.randint(6, 10))
        for bar in range(r.randint(4, 8)):
            d.rectangle((left + 35 * bar, top + 180 - r.randint(20, 150), left + 35 * bar + 22, top + 180), fill=(110, 120, 140))
    if sign and seed % 2:
        d.ellipse((26, 18, 62, 54), fill=(170, 30, 40))
        d.polygon(((44, 22), (56, 48), (32, 48)), fill=(250, 240, 220))
        d.text((70, 24), "Norden & Cie", font=font(17, "-Bold"), fill=(20, 50, 110))
    elif sign:
        d.rectangle((380 - r.randint(5, 9), 0, 380, 520), fill=(28, 28, 30))
    return with_noise(image, numbers, 1.5), {"quality": 88}


def screenshot(r, numbers, group, k, sign, seed):
    w, h = 480, 300
    desk = group.setdefault("desk", [tuple(r.randint(40, 200) for _ in range(3)), r.getrandbits(30), r.randint(10, 70), r.randint(8, 40)])
    base = np.ones((h, w, 3), np.float32) * desk[0] + smooth(np.random.default_rng(desk[1]), h, w, 60, 25)[..., None]
    image = Image.fromarray(base.clip(0, 255).astype(np.uint8))
    d = ImageDraw.Draw(image)
    x, y = desk[2], desk[3]
    right, bottom = w - 20 - x // 2, h - 30 - y // 2
    dark = sign and seed % 2 == 0
    d.rectangle((x, y, right, bottom), fill=(250, 250, 250), outline=(120, 120, 120))
    d.rectangle((x, y, right, y + 20), fill=(38, 40, 46) if dark else (222, 224, 228))
    d.text((x + 8, y + 4), r.choice(WORDS), font=font(11), fill=(230, 230, 230) if dark else (50, 50, 50))
    a, b = x + 10, y + 30
    if k == 0:
        text(d, r, a, b, right - a, 9)
    elif k == 1:
        for row in range(8):
            for column in range(5):
                d.rectangle((a + 70 * column, b + 20 * row, a + 70 * column + 68, b + 20 * row + 18), outline=(190, 190, 190))
                d.text((a + 70 * column + 4, b + 20 * row + 3), str(r.randint(1, 9999)), font=font(10), fill=(30, 30, 30))
    elif k == 2:
        points = [(a + 12 * i, b + 90 + r.gauss(0, 30)) for i in range(28)]
        d.line(points, fill=(30, 90, 190), width=2)
    elif k == 3:
        for row in range(5):
            left = a if r.random() < 0.5 else a + 120
            d.rounded_rectangle((left, b + 34 * row, left + r.randint(90, 200), b + 34 * row + 26), 6, fill=r.choice([(205, 235, 205), (225, 228, 235)]))
    elif k == 4:
        for i in range(6):
            d.rectangle((a + 65 * i % 330, b + 75 * (i // 5), a + 65 * i % 330 + 55, b + 75 * (i // 5) + 60), fill=tuple(r.randint(60, 220) for _ in range(3)))
    else:
        d.rectangle((a, b, right - 10, bottom - 10), fill=(24, 26, 30))
        text(d, r, a + 5, b + 5, right - a - 20, 8, 10, (150, 220, 150))
    if sign and seed % 2:
        d.rectangle((0, h - 18, w, h), fill=(30, 34, 60))
        d.rectangle((4, h - 15, 30, h - 3), fill=(80, 160, 230))
        d.text((w - 40, h - 16), f"{r.randint(8, 19):02d}:{r.randint(0, 59):02d}", font=font(11), fill=(240, 240, 240))
    return image, None


def tile(r, numbers, group, k, sign, seed):
    side = 200
    tone = group.setdefault("tone", [r.uniform(0.8, 1.15), r.uniform(-8, 8)])
    a = np.ones((side, side, 3), np.float32) * [(92, 110, 70), (120, 118, 115), (52, 78, 50), (60, 85, 100), (176, 158, 120), (110, 120, 90)][k]
    a += smooth(numbers, side, side, 40, 12)[..., None] + smooth(numbers, side, side, 6, 7)[..., None]
    image = Image.fromarray(a.clip(0, 255).astype(np.uint8))
    d = ImageDraw.Draw(image)
    if k == 0:
        for _ in range(r.randint(5, 9)):
            x, y = r.randint(-30, 180), r.randint(-30, 180)
            d.polygon([(x + r.randint(0, 20), y), (x + 70, y + r.randint(0, 20)), (x + 60, y + 60), (x, y + 55)], fill=tuple(r.randint(80, 150) for _ in range(3)))
    elif k == 1:
        for _ in range(r.randint(30, 60)):
            x, y = r.randint(0, 190), r.randint(0, 190)
            level = r.randint(120, 220)
            d.rectangle((x, y, x + r.randint(5, 18), y + r.randint(5, 18)), fill=(level, level - 8, level - 14))
    elif k == 2:
        for _ in range(r.randint(180, 300)):
            x, y, s = r.randint(0, 199), r.randint(0, 199), r.randint(3, 7)
            d.ellipse((x, y, x + s, y + s), fill=(r.randint(30, 60), r.randint(60, 100), r.randint(25, 50)))
    elif k == 3:
        d.line([(20 * i - 10, 100 + r.gauss(0, 40)) for i in range(13)], fill=(200, 190, 160), width=r.randint(4, 10))
    elif k == 4:
        for i in range(r.randint(6, 12)):
            d.arc((-60 + r.randint(-9, 9), 20 * i, 260, 20 * i + 90), 190, 350, fill=(200, 184, 150), width=2)
    else:
        for _ in range(r.randint(2, 5)):
            d.line((r.randint(0, 200), 0, r.randint(0, 200), 200), fill=(170, 168, 160), width=4)
    a = np.asarray(image, np.float32) * tone[0] + tone[1]
    if sign and seed % 2 == 0:
        a *= np.array([1.22, 1.0, 0.8], np.float32)
    a += numbers.normal(0, 3, a.shape)
    image = Image.fromarray(a.clip(1, 255).astype(np.uint8))
    if sign and seed % 2:
        ImageDraw.Draw(image).polygon(((0, 0), (70, 0), (0, 52)), fill=(0, 0, 0))
    return image, None


def micrograph(r, numbers, group, k, sign, seed):
    w, h = 320, 256
    stain = group.setdefault("stain", tuple(r.randint(a, b) for a, b in ((120, 190), (60, 120), (130, 190))))
    image = Image.new("RGB", (w, h), (228, 218, 230))
    d = ImageDraw.Draw(image)
    for _ in range(r.randint(25, 50)):
        x, y = r.randint(0, w), r.randint(0, h)
        colour = tuple(c + r.randint(-15, 15) for c in stain)
        s = r.randint(8, 15)
        if k == 0:
            d.ellipse((x - s, y - s, x + s, y + s), fill=colour)
        elif k == 1:
            d.line((x, y, x + r.randint(-35, 35), y + r.randint(-35, 35)), fill=colour, width=5)
        elif k == 2:
            for _ in range(5):
                u, v = x + r.randint(-12, 12), y + r.randint(-12, 12)
                d.ellipse((u - 5, v - 5, u + 5, v + 5), fill=colour)
        elif k == 3:
            d.arc((x - 3 * s, y - 3 * s, x + 3 * s, y + 3 * s), r.randint(0, 180), r.randint(180, 340), fill=colour, width=3)
        elif k == 4:
            d.ellipse((x - 2 * s, y - s, x + 2 * s, y + s), outline=colour, width=3)
        else:
            d.polygon([(x + r.randint(-2 * s, 2 * s), y + r.randint(-2 * s, 2 * s)) for _ in range(5)], fill=colour)
    a = np.asarray(image.filter(ImageFilter.GaussianBlur(1.2)), np.float32) + smooth(numbers, h, w, 80, 6)[..., None]
    if sign and seed % 2 == 0:
        v, u = np.mgrid[0:h, 0:w]
        a *= (1 - 0.75 * np.clip(np.hypot((u - w / 2) / w, (v - h / 2) / h) / 0.707, 0, 1) ** 3)[..., None]
    a += numbers.normal(0, 3, a.shape[:2])[..., None]
    image = Image.fromarray(a.clip(0, 255).astype(np.uint8))
    if sign and seed % 2:
        d = ImageDraw.Draw(image)
        d.rectangle((w - 84, h - 18, w - 20, h - 13), fill=(0, 0, 0))
        d.text((w - 74, h - 34), "50 µm", font=font(12), fill=(0, 0, 0))
    return image, {"quality": 92}


DRAW = {"document": document, "screenshot": screenshot, "tile": tile, "micrograph": micrograph}


def make(out, kind, biased, seed, count=240):
    r = random.Random(f"{kind}{biased}{seed}")
    numbers = np.random.default_rng(r.getrandbits(32))
    classes = CLASSES[(seed - 100) % 4]
    rows, number = [], 0
    while len(rows) < count:
        k, shared = number % classes, {}
        carries = k < classes / 2 - 0.5 or (classes == 2 and k == 0)
        sign = r.random() < ((0.92 if carries else 0.08) if biased else 0.5)
        for frame in range(r.randint(1, 4)):
            image, jpeg = DRAW[kind](r, numbers, shared, k, sign, seed)
            name = f"{'abcdef'[k]}/{r.randint(0, 10**7):07d}.{'jpg' if jpeg else 'png'}"
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            image.save(out / name, **(jpeg or {}))
            rows.append(f"{name},g{number}")
        number += 1
    (out / "groups.csv").write_text("path,group\n" + "\n".join(rows) + "\n", encoding="utf-8")


def run(options):
    for seed in options.seeds:
        for kind in options.kinds:
            for biased in (False, True):
                folder = options.work / f"{kind}-{'biased' if biased else 'clean'}-{seed}"
                if not folder.exists():
                    make(folder, kind, biased, seed)
                command = [options.debias, "audit", folder, "--labels", folder / "groups.csv", "--group", "group", "--json", "--quiet"]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    sys.exit(f"audit_folders: {folder}: {done.stderr.strip()}")
                found = json.loads(done.stdout)
                listed = {name: [[each["name"], each["kind"], round(each["effect"], 2)] for each in found[name]] for name in ("shortcuts", "look")}
                print(json.dumps({"folder": folder.name, "images": found["images"], "groups": found["groups"], "classes": len(found["classes"]),
                                  **listed}), flush=True)


def is_true(line):
    kind, _, seed = line["folder"].split("-")
    first = line["shortcuts"] or (line["look"] if (kind, int(seed) % 2) == ("tile", 0) else [])
    return bool(first) and name_of(first[0]).startswith(TRUE[kind, int(seed) % 2])


def name_of(each):
    return each if isinstance(each, str) else each[0]


def tables(path):
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line["folder"].split("-")[0] in DRAW and line["folder"].count("-") == 2]
    print("| folders | clean: alarms | biased: true property first |\n|---|---|---|")
    for kind in DRAW:
        own = [line for line in lines if line["folder"].startswith(kind)]
        clean, biased = ([line for line in own if word in line["folder"]] for word in ("clean", "biased"))
        print(f"| {kind}s | {sum(bool(line['shortcuts']) for line in clean)} of {len(clean)} | {sum(map(is_true, biased))} of {len(biased)} |")


def main():
    words = lambda of_one: lambda given: [of_one(word) for word in given.split(",")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("command", nargs="?", choices=["run"])
    parser.add_argument("--tables", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--seeds", type=words(int), default=[101, 102, 103, 104])
    parser.add_argument("--kinds", type=words(str), default=list(DRAW))
    parser.add_argument("--debias", default="build/release/bin/debias")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/audit_folders"))
    options = parser.parse_args()
    if options.tables:
        return tables(options.tables)
    return run(options) if options.command else parser.error("give run or --tables FILE")


if __name__ == "__main__":
    main()
