"""Writes tests/golden/images/: small files of many kinds and what Pillow reads from them, for tests/data/image_golden_test.cpp.

    python3 -m venv venv && venv/bin/pip install pillow==11.3.0 numpy==2.4.6 && venv/bin/python tests/golden/make_images.py

pixels.npy holds Image.open(FILE).convert("RGB") of all files one after the other; cases.json lists file, height, width and offset.
Two kinds of file that Pillow does not write are put together by hand: 16 bits a colour, and interlaced rows. One is not read as Pillow's
convert does, which makes nearly every pixel of a grey image of 16 bits white: of these, too, the high byte is expected.
"""
import io
import json
import pathlib
import struct
import zlib

import numpy as np
import PIL
from PIL import Image

OUT = pathlib.Path(__file__).parent / "images"
HEIGHT, WIDTH = 13, 19  # odd, and no multiple of a JPEG block


def picture():
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = [127 + 120 * np.sin(x / 3 + phase) * np.cos(y / 4 - phase) for phase in (0, 1, 2)]
    return np.stack(waves, -1).astype(np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows, depth, colour, interlace=0, more=b""):
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, colour, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def unfiltered(pixels):
    return b"".join(b"\0" + row.tobytes() for row in pixels)


def interlaced(pixels):
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    parts = [pixels[top::down, left::right] for top, left, down, right in passes]
    return b"".join(unfiltered(part) for part in parts if part.size)


def saved(image, **options):
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return buffer.getvalue()


def make_files():
    pixels = picture()
    colour = Image.fromarray(pixels)
    grey = colour.convert("L")
    alpha = Image.fromarray((np.indices((HEIGHT, WIDTH)).sum(0) * 8 % 256).astype(np.uint8))
    transparent = colour.copy()
    transparent.putalpha(alpha)
    palette = colour.quantize(23)
    deep = pixels.astype(">u2") * 256 + pixels[::-1, ::-1]
    turned = Image.Exif()
    turned[0x0112] = 6  # orientation: a quarter turn
    files = {
        "grey.png": saved(grey, format="PNG"),
        "one_bit.png": saved(colour.convert("1"), format="PNG"),
        "few_colours.png": saved(colour.quantize(3), format="PNG", bits=2),
        "palette.png": saved(palette, format="PNG"),
        "palette_with_alpha.png": saved(palette, format="PNG", transparency=bytes(range(0, 230, 10))),
        "colour.png": saved(colour, format="PNG"),
        "colour_with_a_clear_one.png": saved(colour, format="PNG", transparency=tuple(int(v) for v in pixels[0, 0])),
        "alpha.png": saved(transparent, format="PNG"),
        "grey_with_alpha.png": saved(transparent.convert("LA"), format="PNG"),
        "turned.png": saved(colour, format="PNG", exif=turned),
        "grey_of_sixteen_bits.png": saved(Image.fromarray(deep[..., 0].astype(np.uint16)), format="PNG"),
        "sixteen_bits.png": png(unfiltered(deep), 16, 2),
        "sixteen_bits_with_alpha.png": png(unfiltered(np.concatenate([deep, deep[..., :1]], -1)), 16, 6),
        "interlaced.png": png(interlaced(pixels), 8, 2, interlace=1),
        "gamma.png": png(unfiltered(pixels), 8, 2, more=chunk(b"gAMA", struct.pack(">I", 100000))),
        "colour.jpg": saved(colour, format="JPEG", quality=80),
        "every_pixel.jpg": saved(colour, format="JPEG", quality=95, subsampling=0),
        "half_columns.jpg": saved(colour, format="JPEG", quality=90, subsampling=1),
        "progressive.jpg": saved(colour, format="JPEG", quality=60, progressive=True),
        "restarts.jpg": saved(colour, format="JPEG", restart_marker_blocks=1),
        "grey.jpg": saved(grey, format="JPEG"),
        "cmyk.jpg": saved(colour.convert("CMYK"), format="JPEG", quality=90),
        "turned.jpg": saved(colour, format="JPEG", exif=turned),
    }
    return files


def main():
    OUT.mkdir(exist_ok=True)
    cases, pixels, offset = [], [], 0
    for name, data in make_files().items():
        (OUT / name).write_bytes(data)
        image = Image.open(OUT / name)
        if image.mode == "I;16":
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        read = np.asarray(image.convert("RGB"))
        cases.append({"file": name, "height": read.shape[0], "width": read.shape[1], "offset": offset})
        pixels.append(read.reshape(-1))
        offset += read.size
    np.save(OUT / "pixels.npy", np.concatenate(pixels))
    made_with = {"pillow": PIL.__version__, "numpy": np.__version__}
    lines = ",\n".join(json.dumps(case) for case in cases)
    (OUT / "cases.json").write_text(f'{{"made_with": {json.dumps(made_with)},\n"cases": [\n{lines}\n]}}\n')


main()
