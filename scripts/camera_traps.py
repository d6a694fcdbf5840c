#!/usr/bin/env python3
"""camera_traps.py OUT [--bursts N] [--seed S] [--aligned P]: photographs of animals as camera traps take them, to try debias on.

Animals cut out of photographs stand in photographs of landscapes. OUT/train and OUT/test have a folder a species, OUT/traps.csv has
path,label,site,burst. A burst is one animal at one site in 1 to 6 frames, seconds apart (Exif has the time), from one camera a site. In
the training images a share P (0.9) of the bursts of a species is from the sites where it is common. Test images show other animals, half
of the bursts at two sites that no training image shows and half at the others; there the site says nothing of the species. Needs Pillow,
numpy and the Debian packages tuxpaint-stamps-default and mate-backgrounds. The same arguments give the same images.
"""

import argparse
import csv
import datetime
import pathlib
import sys

import numpy
from PIL import Image, ImageEnhance

STAMPS, SCENES = pathlib.Path("/usr/share/tuxpaint/stamps/animals"), pathlib.Path("/usr/share/backgrounds/mate/nature")
SPECIES = {"bird": "birds", "hoofed": "mammals/{bovines,deer,equines}"}
SIZE = (640, 480)


def cut_outs(place):
    folders = place.split("{")
    names = [folders[0] + name for name in folders[1].rstrip("}").split(",")] if len(folders) > 1 else [place]
    found = []
    for file in sorted(file for name in names for file in (STAMPS / name).rglob("*.png")):
        image = Image.open(file).convert("RGBA")
        box = image.getchannel("A").point(lambda alpha: 255 * (alpha > 20)).getbbox()
        if "mirror" not in file.name and "flip" not in file.name and box and min(box[2] - box[0], box[3] - box[1]) > 40:
            found.append(image.crop(box))
    return found


def scene(file):
    image = Image.open(file).convert("RGB")
    side = min(image.width / SIZE[0], image.height / SIZE[1])
    return image.crop((0, image.height - int(side * SIZE[1]), int(side * SIZE[0]), image.height)).resize(SIZE, Image.LANCZOS)


def frame(random, ground, animal, x, y, light):
    """The animal before the ground, a step further, in the light of the hour."""
    image = ground.copy()
    shift = random.integers(-6, 7, 2)
    image.paste(animal, (x + int(shift[0]) * 3, y + int(shift[1])), animal)
    image = ImageEnhance.Brightness(image).enhance(light * random.uniform(0.98, 1.02))
    pixels = numpy.asarray(image, dtype=numpy.float32) + random.normal(0, 3, (*SIZE[::-1], 1))
    return Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8))


def main():
    given = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], usage="camera_traps.py OUT [--bursts N] [--seed S] [--aligned P]")
    given.add_argument("out", type=pathlib.Path)
    given.add_argument("--bursts", type=int, default=70, help="of a species in train; test has as many")
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--aligned", type=float, default=0.9)
    given = given.parse_args()
    files = sorted(SCENES.glob("*.jpg"))
    if len(files) < 6 or not STAMPS.is_dir():
        sys.exit("camera_traps.py: found no photographs; apt install tuxpaint-stamps-default mate-backgrounds")
    if given.out.exists():
        sys.exit(f"camera_traps.py: {given.out} exists; name a new folder")
    first, later = numpy.random.default_rng(given.seed), numpy.random.default_rng([given.seed, 1])
    files = [files[i] for i in first.permutation(len(files))[:6]]
    grounds, rows = [scene(file) for file in files], []
    for which, (species, place) in enumerate(SPECIES.items()):
        animals = cut_outs(place)
        half = given.bursts // 2
        for split, bursts, random in (("train", range(given.bursts), first), ("test", range(half), first), ("test", range(half, 2 * half), later)):
            folder = given.out / split / species
            folder.mkdir(parents=True, exist_ok=True)
            own = animals[::2] if split == "train" else animals[1::2]  # test: other animals
            for burst in bursts:
                home = which if random.random() < given.aligned else 1 - which
                if split == "test":
                    home = 2 if burst < half else random.integers(2)
                site = int(2 * home + random.integers(2))
                animal = own[random.integers(len(own))].copy()
                height = random.uniform(0.25, 0.5) * SIZE[1]
                scale = min(height / animal.height, 0.6 * SIZE[0] / animal.width)
                animal = animal.resize((max(8, int(scale * animal.width)), max(8, int(scale * animal.height))), Image.LANCZOS)
                if random.random() < 0.5:
                    animal = animal.transpose(Image.FLIP_LEFT_RIGHT)
                x, y = int(random.integers(20, SIZE[0] - animal.width - 20)), int(random.integers(SIZE[1] // 3, max(SIZE[1] // 3 + 1, SIZE[1] - animal.height)))
                time = datetime.datetime(2024, 5, 1) + datetime.timedelta(seconds=int(random.integers(120 * 86400)))
                light = random.uniform(0.55, 1.1)
                for number in range(int(random.integers(1, 7))):
                    exif = Image.Exif()
                    exif[0x0110] = f"TrailCam {site + 1}"
                    exif[0x0132] = exif.get_ifd(0x8769)[0x9003] = (time + datetime.timedelta(seconds=number)).strftime("%Y:%m:%d %H:%M:%S")
                    path = folder / f"{'ABCDEF'[site]}{burst:03}_{number}.jpg"
                    frame(random, grounds[site], animal, x, y, light).save(path, quality=85, exif=exif)
                    rows.append((path.relative_to(given.out).as_posix(), species, f"site {'ABCDEF'[site]}", f"{split} {species} {burst}"))
    with open(given.out / "traps.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("path", "label", "site", "burst"), *rows])
    print(f"{given.out}: {len(rows)} images of {len({row[3] for row in rows})} bursts at {len(files)} sites")


if __name__ == "__main__":
    main()
