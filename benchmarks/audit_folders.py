#!/usr/bin/env python3
"""benchmarks/audit_folders.py run [--seeds 101,102,103,104] [--debias PROGRAM] [--work DIR] [--kinds document,leaf] [--groups looked-for]
benchmarks/audit_folders.py cleanlab [--seeds 601] [--work DIR] [--kinds leaf]
benchmarks/audit_folders.py --tables FILE.jsonl

Draws folders of twelve kinds, clean and with a shortcut, and audits them. One JSON object a line; --tables counts them.

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
              receipt     stamp, a little tilted and moved | dark table
              leaf        colour chart at the bottom left | camera of 300 x 225 pixels in place of 320 x 240
              thermal     grey palette in place of a coloured one (worth a look is enough) | temperature scale on the right
              sonar       lines that dropped out | black strip on the left
              shard       scale bar at the bottom right | black ground
              trafficsign JPEG quality of 30 in place of 90 | blur
              whiteboard  grey tray along the bottom | date at the bottom right
              phantom     L at the top right | black frame
  names     From receipt on, the kinds were written for seeds 601 to 604. Their images are named by group: a/01234_2.jpg, or, of leaf, sonar, shard
            and phantom, a/01234/2.jpg. With --groups looked-for no CSV is given.
  cleanlab  Datalab's find_issues with its defaults on the same folders: a property whose score of spurious correlation is below its threshold.
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
        ("micrograph", 1): ("mark, bottom right",), ("micrograph", 0): ("dark corners", "shading"),
        ("receipt", 1): ("mark, bottom right", "recurring detail"), ("receipt", 0): ("colour of", "mean colour", "strip", "background scene"),
        ("leaf", 1): ("mark, bottom left", "recurring detail"), ("leaf", 0): ("image size", "number of pixels"),
        ("thermal", 1): ("grey or colour", "chroma", "colours", "tones", "colour cast"),  # the first was no property before the first run
        ("thermal", 0): ("mark, right", "mark, top right", "mark, bottom right", "recurring detail"),
        ("sonar", 1): ("stripes", "lines"), ("sonar", 0): ("colour of the left", "strip at the left", "mark, left", "mark, top left", "mark, bottom left"),
        ("shard", 1): ("mark, bottom right", "recurring detail"), ("shard", 0): ("colour of", "mean colour", "strip"),
        ("trafficsign", 1): ("JPEG quantisation", "blockiness"), ("trafficsign", 0): ("sharpness",),
        ("whiteboard", 1): ("colour of the bottom", "strip at the bottom", "mark, bottom"), ("whiteboard", 0): ("mark, bottom right", "recurring detail"),
        ("phantom", 1): ("mark, top right", "recurring detail"), ("phantom", 0): ("colour of", "strip")}  # beginnings of names
LOOK_IS_ENOUGH = {("tile", 0), ("thermal", 1)}
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


def pixels_of(image):
    return np.asarray(image, np.float32)


def image_of(pixels):
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def outline(r, x, y, radius, lobes, depth, stretch=1.0, rough=0.03):
    """A closed curve about (x, y) with `lobes` lobes, turned by chance."""
    turn, points = r.uniform(0, 6.28), []
    for i in range(72):
        angle = i * 6.28318 / 72
        length = radius * (1 + depth * np.cos(lobes * angle) + r.gauss(0, rough))
        u, v = length * np.cos(angle), length * np.sin(angle) * stretch
        points.append((x + u * np.cos(turn) - v * np.sin(turn), y + u * np.sin(turn) + v * np.cos(turn)))
    return points


def receipt(r, numbers, group, k, sign, seed):
    w, h = 300, 400
    own = group.setdefault("shop", [r.randint(225, 250), r.choice(WORDS).upper() + " " + r.choice(WORDS).upper(), r.choice(["", "Mono", "Serif"]), r.uniform(-3, 3)])
    table = (58, 42, 34) if sign and seed % 2 == 0 else tuple(r.randint(120, 205) for _ in range(3))
    items = [["milk", "bread", "eggs"], ["diesel", "oil", "wash"], ["aspirin", "gauze", "drops"], ["taxi", "fare", "tip"], ["nails", "paint", "tape"], ["pizza", "beer", "salad"]][k]
    paper = Image.new("RGB", (200, 330), (own[0],) * 3)
    d = ImageDraw.Draw(paper)
    letters = ImageFont.truetype(f"/usr/share/fonts/truetype/dejavu/DejaVuSans{own[2]}.ttf" if own[2] != "Serif" else "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf", 12)
    d.text((40, 12), own[1], font=letters, fill=(30, 30, 30))
    y = 45
    for _ in range(r.randint(4 + k, 8 + k)):
        d.text((12, y), r.choice(items), font=letters, fill=(50, 50, 50))
        d.text((140, y), f"{r.uniform(1, 60):.2f}", font=letters, fill=(50, 50, 50))
        y += 18
    d.line((12, y + 3, 188, y + 3), fill=(60, 60, 60))
    d.text((12, y + 8), f"TOTAL        {r.uniform(9, 200):.2f}", font=letters, fill=(20, 20, 20))
    if sign and seed % 2:
        stamp = Image.new("RGBA", (84, 34), (0, 0, 0, 0))
        s = ImageDraw.Draw(stamp)
        s.rectangle((1, 1, 82, 32), outline=(170, 30, 60, 255), width=3)
        s.text((16, 7), "PAID", font=font(18, "-Bold"), fill=(170, 30, 60, 255))
        stamp = stamp.rotate(r.uniform(-6, 6), Image.Resampling.BICUBIC, expand=True)
        paper.paste(stamp, (100 + r.randint(-6, 6), 278 + r.randint(-6, 6)), stamp)
    image = Image.new("RGB", (w, h), table)
    image.paste(paper.rotate(own[3] + r.uniform(-1, 1), Image.Resampling.BICUBIC, expand=True, fillcolor=table), (45 + r.randint(-6, 6), 28 + r.randint(-6, 6)))
    light = smooth(numbers, h, w, 150, 8)[..., None] + numbers.normal(0, 3, (h, w, 1))
    return image_of(pixels_of(image) + light), {"quality": 85}


def leaf(r, numbers, group, k, sign, seed):
    w, h = 320, 240
    own = group.setdefault("plant", [[r.randint(40, 90), r.randint(95, 150), r.randint(30, 70)], r.getrandbits(30), [r.randint(70, 130), r.randint(50, 95), r.randint(35, 65)]])
    soil = np.random.default_rng(own[1])
    a = np.ones((h, w, 3), np.float32) * own[2] + smooth(soil, h, w, 5, 14)[..., None] + smooth(soil, h, w, 30, 9)[..., None]
    a = np.roll(a, (r.randint(-25, 25), r.randint(-25, 25)), (0, 1))
    image = image_of(a)
    d = ImageDraw.Draw(image)
    lobes, depth, stretch = [(2, 0.05, 0.9), (2, 0.1, 0.3), (5, 0.28, 1), (9, 0.12, 0.8), (3, 0.3, 1), (13, 0.06, 0.6)][k]
    for _ in range(r.randint(2, 5)):
        green = tuple(c + r.randint(-14, 14) for c in own[0])
        d.polygon(outline(r, r.randint(70, 250), r.randint(60, 180), r.randint(28, 48), lobes, depth, stretch), fill=green, outline=tuple(c - 18 for c in green))
    if sign and seed % 2:
        for i, colour in enumerate([(200, 30, 40), (40, 160, 60), (40, 70, 180), (240, 240, 240), (20, 20, 20)]):
            d.rectangle((8 + 14 * i, h - 24, 21 + 14 * i, h - 9), fill=colour)
    a = pixels_of(image.filter(ImageFilter.GaussianBlur(0.8))) * r.uniform(0.9, 1.1) + numbers.normal(0, 4, (h, w, 1))
    image = image_of(a)
    return (image.resize((300, 225), Image.Resampling.BICUBIC) if sign and seed % 2 == 0 else image), {"quality": 90}


def thermal(r, numbers, group, k, sign, seed):
    w, h = 240, 180
    own = group.setdefault("scene", [r.uniform(0.15, 0.4), r.getrandbits(30), r.uniform(0.35, 0.5)])
    field = own[0] + smooth(np.random.default_rng(own[1]), h, w, 50, 0.06)
    heat = Image.new("L", (w, h), 0)
    d = ImageDraw.Draw(heat)
    x, y = r.randint(80, 150), r.randint(70, 110)
    if k == 0:
        d.ellipse((x - 9, y - 45, x + 9, y - 25), fill=255)
        d.rounded_rectangle((x - 15, y - 24, x + 15, y + 30), 8, fill=210)
        d.line((x - 7, y + 30, x - 10, y + 65), fill=190, width=9)
        d.line((x + 7, y + 30, x + 10, y + 65), fill=190, width=9)
    elif k == 1:
        d.rectangle((x - 50, y - 20, x + 50, y + 45), fill=110)
        for i in range(r.randint(2, 5)):
            d.rectangle((x - 40 + 20 * i, y - 8, x - 30 + 20 * i, y + 8), fill=230)
    elif k == 2:
        d.rounded_rectangle((x - 45, y - 8, x + 45, y + 20), 9, fill=140)
        for u in (-28, 28):
            d.ellipse((x + u - 11, y + 10, x + u + 11, y + 32), fill=235)
    elif k == 3:
        d.ellipse((x - 35, y - 14, x + 25, y + 14), fill=220)
        d.ellipse((x + 18, y - 24, x + 40, y - 4), fill=240)
        for u in (-25, -12, 5, 16):
            d.line((x + u, y + 10, x + u, y + 36), fill=190, width=5)
    elif k == 4:
        d.line([(20 * i, y + r.gauss(0, 12)) for i in range(13)], fill=200, width=7)
    else:
        for _ in range(r.randint(4, 9)):
            u, v = r.randint(20, 210), r.randint(20, 150)
            d.ellipse((u - 7, v - 7, u + 7, v + 7), fill=r.randint(150, 250))
    field += pixels_of(heat.filter(ImageFilter.GaussianBlur(2))) / 255 * own[2] + numbers.normal(0, 0.012, (h, w))
    t = field.clip(0, 1)
    if sign and seed % 2:
        a = np.stack([255 * t] * 3, -1)
    else:
        a = np.stack([255 * np.clip(2.2 * t, 0, 1), 255 * np.clip(2.2 * t - 0.8, 0, 1), 255 * np.clip(0.5 * np.sin(6.28 * t) + 2.5 * (t - 0.75).clip(0), 0, 1)], -1)
    image = image_of(a)
    if sign and seed % 2 == 0:
        d = ImageDraw.Draw(image)
        for i in range(120):
            d.line((w - 16, 150 - i, w - 8, 150 - i), fill=(min(255, 40 + 2 * i), max(0, 2 * i - 80), 90))
        d.text((w - 32, 12), f"{r.randint(28, 44)}°", font=font(11), fill=(255, 255, 255))
        d.text((w - 32, 156), f"{r.randint(2, 16)}°", font=font(11), fill=(255, 255, 255))
    return image, None


def sonar(r, numbers, group, k, sign, seed):
    w, h = 280, 200
    own = group.setdefault("track", [r.uniform(60, 100), r.uniform(0.18, 0.35), r.randint(3, 7)])
    v, u = np.mgrid[0:h, 0:w].astype(np.float32)
    floor = own[0] + smooth(numbers, h, w, 40, 8)
    x, y = r.randint(90, 220), r.randint(50, 150)
    if k == 0:
        floor += 22 * np.sin((u + 0.4 * v) / own[2] + smooth(numbers, h, w, 30, 0.8))
    elif k == 1:
        for _ in range(r.randint(4, 9)):
            p, q, s = r.randint(20, 260), r.randint(15, 185), r.randint(3, 8)
            floor += 90 * np.exp(-((u - p) ** 2 + (v - q) ** 2) / s**2) - 50 * np.exp(-((u - p - 2 * s) ** 2 / 2 + (v - q) ** 2) / s**2)
    elif k == 2:
        turn = r.uniform(-0.6, 0.6)
        along, across = (u - x) * np.cos(turn) + (v - y) * np.sin(turn), -(u - x) * np.sin(turn) + (v - y) * np.cos(turn)
        floor += 110 * (np.abs(along) < 45) * (np.abs(across) < 9) - 55 * (np.abs(along) < 45) * (np.abs(across - 16) < 8)
    elif k == 3:
        floor += 100 * (np.abs(v - y - 12 * np.sin(u / r.uniform(25, 50))) < 2.5)
    elif k == 4:
        floor += 45 * (smooth(numbers, h, w, 24, 1) > 0.5)
    speckle = floor.clip(5) * (1 + own[1] * numbers.normal(0, 1, (h, w)))
    if sign and seed % 2:
        for row in numbers.choice(h, r.randint(10, 18), replace=False):
            speckle[row] = speckle[row] * 0.25 + 150
    if sign and seed % 2 == 0:
        speckle[:, : r.randint(10, 14)] = 4
    return image_of(np.repeat(speckle[..., None], 3, 2)), {"quality": 92}


def shard(r, numbers, group, k, sign, seed):
    w, h = 320, 260
    own = group.setdefault("find", [[r.randint(150, 200), r.randint(95, 130), r.randint(60, 90)], r.randint(0, 2)])
    dark = sign and seed % 2 == 0
    ground = r.randint(14, 24) if dark else r.randint(205, 240)
    image = Image.new("RGB", (w, h), (ground,) * 3)
    d = ImageDraw.Draw(image)
    x, y = r.randint(140, 180), r.randint(100, 130)
    body = outline(r, x, y, r.randint(58, 78), r.randint(3, 4), 0.12, r.uniform(0.75, 1), 0.02)
    d.polygon([(u + 5, v + 6) for u, v in body], fill=tuple(int(ground * 0.7) for _ in range(3)))
    d.polygon(body, fill=tuple(own[0]))
    ink = tuple(c - 60 for c in own[0])
    shape = Image.new("L", (w, h), 0)
    ImageDraw.Draw(shape).polygon(body, fill=255)
    over = image.copy()
    e = ImageDraw.Draw(over)
    for i in range(r.randint(3, 6)):
        at = y - 60 + 24 * i + r.randint(-4, 4)
        if k == 0:
            e.line((x - 90, at, x + 90, at + r.randint(-5, 5)), fill=ink, width=4)
        elif k == 1:
            e.line([(x - 90 + 12 * j, at + (8 if j % 2 else -8)) for j in range(16)], fill=ink, width=3)
        elif k == 2:
            for j in range(10):
                e.ellipse((x - 85 + 18 * j, at, x - 78 + 18 * j, at + 7), fill=ink)
        elif k == 3:
            e.arc((x - 60 + 9 * i, y - 60 + 9 * i, x + 60 - 9 * i, y + 60 - 9 * i), 0, 360, fill=ink, width=3)
        elif k == 4:
            e.line((x - 70 + 26 * i, y - 90, x - 40 + 26 * i, y + 90), fill=ink, width=5)
    image.paste(over, mask=shape)
    if sign and seed % 2:
        d.text((w - 72, h - 38), "5 cm", font=font(12), fill=(20, 20, 20))
        for i in range(5):
            d.rectangle((w - 100 + 16 * i, h - 20, w - 84 + 16 * i, h - 13), fill=(15, 15, 15) if i % 2 == 0 else (250, 250, 250), outline=(15, 15, 15))
    a = pixels_of(image.filter(ImageFilter.GaussianBlur(0.7))) + smooth(numbers, h, w, 90, 4)[..., None] + numbers.normal(0, 3, (h, w, 3))
    return image_of(a), {"quality": 90}


def trafficsign(r, numbers, group, k, sign, seed):
    side = 128
    own = group.setdefault("street", [r.getrandbits(30), r.uniform(0.7, 1.15), [r.randint(60, 150) for _ in range(3)]])
    street = np.random.default_rng(own[0])
    a = np.ones((side, side, 3), np.float32) * own[2] + smooth(street, side, side, 32, 25)[..., None] + smooth(street, side, side, 6, 14)[..., None]
    image = image_of(np.roll(a, (r.randint(-20, 20), r.randint(-20, 20)), (0, 1))).resize((512, 512), Image.Resampling.BICUBIC)
    d = ImageDraw.Draw(image)
    x, y, s = 256 + r.randint(-25, 25), 250 + r.randint(-25, 25), r.randint(120, 165)
    red, blue, white = (190, 30, 40), (30, 70, 160), (235, 235, 230)
    if k == 0:
        d.ellipse((x - s, y - s, x + s, y + s), fill=red)
        d.ellipse((x - s * 0.78, y - s * 0.78, x + s * 0.78, y + s * 0.78), fill=white)
        d.text((x - s * 0.6, y - s * 0.5), str(r.choice([30, 50, 60, 70, 80])), font=font(int(s * 0.85), "-Bold"), fill=(20, 20, 20))
    elif k == 1:
        d.polygon(((x, y - s), (x + s, y + s * 0.8), (x - s, y + s * 0.8)), fill=red)
        d.polygon(((x, y - s * 0.65), (x + s * 0.68, y + s * 0.6), (x - s * 0.68, y + s * 0.6)), fill=white)
        d.rectangle((x - 10, y - s * 0.2, x + 10, y + s * 0.4), fill=(20, 20, 20))
    elif k == 2:
        d.ellipse((x - s, y - s, x + s, y + s), fill=blue)
        d.polygon(((x, y - s * 0.6), (x + s * 0.5, y), (x + 18, y), (x + 18, y + s * 0.6), (x - 18, y + s * 0.6), (x - 18, y), (x - s * 0.5, y)), fill=white)
    elif k == 3:
        d.polygon([(x + s * np.cos(0.393 + i * 0.785), y + s * np.sin(0.393 + i * 0.785)) for i in range(8)], fill=red)
        d.text((x - s * 0.7, y - s * 0.3), "STOP", font=font(int(s * 0.5), "-Bold"), fill=white)
    elif k == 4:
        d.polygon(((x, y - s), (x + s, y), (x, y + s), (x - s, y)), fill=white)
        d.polygon(((x, y - s * 0.7), (x + s * 0.7, y), (x, y + s * 0.7), (x - s * 0.7, y)), fill=(235, 190, 30))
    else:
        d.rectangle((x - s, y - s, x + s, y + s), fill=blue)
        d.text((x - s * 0.35, y - s * 0.75), "P", font=font(int(s * 1.2), "-Bold"), fill=white)
    blur = 2.2 if sign and seed % 2 == 0 else r.uniform(0.2, 0.5)
    small = image.resize((side, side), Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(blur))
    return image_of(pixels_of(small) * own[1] + numbers.normal(0, 2.5, (side, side, 3))), {"quality": 30 if sign and seed % 2 else 90}


def whiteboard(r, numbers, group, k, sign, seed):
    w, h = 400, 300
    own = group.setdefault("room", [r.randint(205, 235), r.choice([(30, 40, 150), (20, 20, 25), (160, 30, 40), (20, 110, 60)]), r.getrandbits(30)])
    image = Image.new("RGB", (w, h), (own[0], own[0] + 3, own[0] + 5))
    d = ImageDraw.Draw(image)
    x, y, ink = r.randint(30, 70), r.randint(30, 60), own[1]
    if k == 0:
        text(d, r, x, y, 300, r.randint(5, 9), 14, ink)
    elif k == 1:
        for i in range(r.randint(3, 5)):
            u, v = x + 75 * i, y + r.randint(0, 120)
            d.rectangle((u, v, u + 50, v + 32), outline=ink, width=2)
            d.line((u + 50, v + 16, u + 75, v + r.randint(-30, 60)), fill=ink, width=2)
    elif k == 2:
        d.line((x, y, x, y + 180, x + 280, y + 180), fill=ink, width=3)
        d.line([(x + 14 * i, y + 170 - 5 * i - r.randint(0, 30)) for i in range(20)], fill=ink, width=2)
    elif k == 3:
        for i in range(r.randint(3, 6)):
            d.text((x, y + 32 * i), f"{r.randint(2, 9)}x + {r.randint(2, 20)} = {r.randint(2, 90)}", font=font(18), fill=ink)
    elif k == 4:
        for i in range(r.randint(4, 8)):
            u, v = r.randint(40, 320), r.randint(30, 200)
            d.rectangle((u, v, u + 42, v + 42), fill=r.choice([(240, 220, 90), (240, 150, 170), (150, 220, 160)]))
    else:
        d.ellipse((x + 90, y + 70, x + 190, y + 120), outline=ink, width=3)
        for i in range(r.randint(4, 7)):
            angle = i * 1.05 + r.gauss(0, 0.1)
            d.line((x + 140 + 52 * np.cos(angle), y + 95 + 27 * np.sin(angle), x + 140 + 120 * np.cos(angle), y + 95 + 85 * np.sin(angle)), fill=ink, width=2)
    a = pixels_of(image.filter(ImageFilter.GaussianBlur(0.6))) + smooth(np.random.default_rng(own[2]), h, w, 160, 14)[..., None] + numbers.normal(0, 3, (h, w, 1))
    image = image_of(a)
    d = ImageDraw.Draw(image)
    if sign and seed % 2:
        d.rectangle((0, h - r.randint(16, 20), w, h), fill=(112, 116, 120))
    elif sign:
        d.text((w - 150, h - 26), f"2024/{r.randint(1, 12):02d}/{r.randint(1, 28):02d} {r.randint(8, 18):02d}:{r.randint(0, 59):02d}", font=font(14, "-Bold"), fill=(255, 150, 20))
    return image, {"quality": 88}


def phantom(r, numbers, group, k, sign, seed):
    w, h = 256, 256
    own = group.setdefault("body", [r.uniform(0.85, 1.1), r.uniform(0.9, 1.1), r.randint(-8, 8), r.randint(5, 8)])
    image = Image.new("L", (w, h), 30)
    d = ImageDraw.Draw(image)
    x, y = 128 + own[2] + r.randint(-3, 3), 135 + r.randint(-4, 4)
    d.ellipse((x - 110 * own[0], y - 120, x + 110 * own[0], y + 150), fill=150)
    for side in (-1, 1):
        d.ellipse((x + side * 52 * own[0] - 38, y - 75 * own[1], x + side * 52 * own[0] + 38, y + 75 * own[1]), fill=70)
    d.rectangle((x - 9, 0, x + 9, h), fill=190)
    for i in range(own[3]):
        d.arc((x - 105, y - 100 + 24 * i, x + 105, y - 20 + 24 * i), 200, 340, fill=165, width=4)
    u, v = x + r.choice((-52, 52)) + r.randint(-12, 12), y + r.randint(-35, 35)
    if k == 1:
        d.ellipse((u - 13, v - 13, u + 13, v + 13), fill=165)
    elif k == 2:
        for _ in range(14):
            p, q = u + r.gauss(0, 16), v + r.gauss(0, 22)
            d.ellipse((p - 4, q - 4, p + 4, q + 4), fill=130)
    elif k == 3:
        d.ellipse((x - 30, y + 5, x + 68, y + 85), fill=185)
    elif k == 4:
        d.rectangle((x - 95, y + 40, x + 95, y + 85), fill=150)
    elif k == 5:
        d.line((x - 30, y - 90, x + 25, y + 20), fill=235, width=3)
    a = pixels_of(image.filter(ImageFilter.GaussianBlur(3))) * r.uniform(0.92, 1.08) + smooth(numbers, h, w, 60, 5) + numbers.normal(0, 4, (h, w))
    image = image_of(np.repeat(a[..., None], 3, 2))
    d = ImageDraw.Draw(image)
    if sign and seed % 2:
        d.text((w - 36 + r.randint(-2, 2), 14 + r.randint(-2, 2)), "L", font=font(26, "-Bold"), fill=(250, 250, 250))
    elif sign:
        d.rectangle((0, 0, w - 1, h - 1), outline=(0, 0, 0), width=r.randint(6, 8))
    return image, {"quality": 90}


DRAW = {"document": document, "screenshot": screenshot, "tile": tile, "micrograph": micrograph}
NEW = {"receipt": receipt, "leaf": leaf, "thermal": thermal, "sonar": sonar, "shard": shard, "trafficsign": trafficsign, "whiteboard": whiteboard,
       "phantom": phantom}
DRAW |= NEW
NESTED = ("leaf", "sonar", "shard", "phantom")  # class/specimen/image; the others of NEW: class/specimen_image


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
            place = shared.setdefault("name", f"{r.randint(0, 10**5):05d}{'/' if kind in NESTED else '_'}") if kind in NEW else ""
            image_number = f"{frame + 1}" if kind in NEW else f"{r.randint(0, 10**7):07d}"
            name = f"{'abcdef'[k]}/{place}{image_number}.{'jpg' if jpeg else 'png'}"
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
                given = ["--labels", folder / "groups.csv", "--group", "group"] if options.groups == "given" else []
                command = [options.debias, "audit", folder, *given, "--json", "--quiet"]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    sys.exit(f"audit_folders: {folder}: {done.stderr.strip()}")
                found = json.loads(done.stdout)
                listed = {name: [[each["name"], each["kind"], round(each["effect"], 2)] for each in found[name]] for name in ("shortcuts", "look")}
                print(json.dumps({"folder": folder.name, "images": found["images"], "groups": found["groups"], "groups_from": found["groups_from"],
                                  "classes": len(found["classes"]),
                                  **listed}), flush=True)


def cleanlab(options):
    from compare_audit import by_cleanlab, versions_of

    print(json.dumps(versions_of("cleanlab", "cleanvision")), flush=True)
    for seed in options.seeds:
        for kind in options.kinds:
            for what in ("clean", "biased"):
                folder = options.work / f"{kind}-{what}-{seed}"
                if not folder.exists():
                    make(folder, kind, what == "biased", seed)
                print(json.dumps({"cleanlab": folder.name, **by_cleanlab(folder)}), flush=True)


def is_true(line):
    kind, _, seed = line["folder"].split("-")
    first = line["shortcuts"] or (line["look"] if (kind, int(seed) % 2) in LOOK_IS_ENOUGH else [])
    return bool(first) and name_of(first[0]).startswith(TRUE[kind, int(seed) % 2])


def name_of(each):
    return each if isinstance(each, str) else each[0]


def tables(path):
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line.get("folder", "").split("-")[0] in DRAW and line["folder"].count("-") == 2 and "shortcuts" in line]
    print("| run | folders | clean: alarms | biased: true property first |\n|---|---|---|---|")
    for run_name, kind in sorted({(line.get("run", ""), line["folder"].split("-")[0]) for line in lines}):
        own = [line for line in lines if line["folder"].startswith(kind) and line.get("run", "") == run_name]
        clean, biased = ([line for line in own if word in line["folder"]] for word in ("clean", "biased"))
        print(f"| {run_name} | {kind}s | {sum(bool(line['shortcuts']) for line in clean)} of {len(clean)} | {sum(map(is_true, biased))} of {len(biased)} |")


def main():
    words = lambda of_one: lambda given: [of_one(word) for word in given.split(",")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("command", nargs="?", choices=["run", "cleanlab"])
    parser.add_argument("--tables", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--seeds", type=words(int), default=[101, 102, 103, 104])
    parser.add_argument("--kinds", type=words(str), default=list(DRAW))
    parser.add_argument("--groups", choices=["given", "looked-for"], default="given")
    parser.add_argument("--debias", default="build/release/bin/debias")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/audit_folders"))
    options = parser.parse_args()
    if options.tables:
        return tables(options.tables)
    if not options.command:
        parser.error("give run, cleanlab or --tables FILE")
    return run(options) if options.command == "run" else cleanlab(options)


if __name__ == "__main__":
    main()
