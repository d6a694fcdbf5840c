"""Writes tests/golden/images.tar.gz: small files of many kinds and what Pillow reads from them, for tests/image/image_golden_test.cpp.

    python3 -m venv venv && venv/bin/pip install pillow==11.3.0 numpy==2.4.6 && venv/bin/python tests/golden/make_images.py

pixels.npy holds Image.open(FILE).convert("RGB") of all files one after the other; cases.json lists file, height, width and offset, then
under "upright" those that carry an orientation once more, as ImageOps.exif_transpose turns them. Kinds of file that Pillow does not write
are put together by hand. One is not read as Pillow's convert does, which makes nearly every pixel of a grey image of 16 bits white: of
these the high byte is expected.
"""
import gzip
import io
import json
import pathlib
import struct
import tarfile
import zlib

import numpy as np
import PIL
from PIL import Image, ImageOps

OUT = pathlib.Path(__file__).parent / "images.tar.gz"
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


def tiff(strips, bits=(8, 8, 8), interpretation=2, order="<", **more):
    """Uncompressed, of the given strips (or tiles); `more` are further tags by number, SHORTs."""
    tags = {256: WIDTH, 257: HEIGHT, 258: bits, 259: 1, 262: interpretation, 277: len(bits), **{int(k[1:]): v for k, v in more.items()}}
    tags.update({324: None, 325: None} if 322 in tags else {273: None, 279: None, 278: HEIGHT})
    tags = {tag: value if isinstance(value, (tuple, type(None))) else (value,) for tag, value in tags.items()}
    at, sizes = 8, [len(strip) for strip in strips]
    offsets = [at + sum(sizes[:i]) for i in range(len(strips))]
    for tag, values in ((273, offsets), (279, sizes), (324, offsets), (325, sizes)):
        if tag in tags:
            tags[tag] = tuple(values)
    at += sum(sizes)
    entries, behind = b"", b""
    end = at + 2 + 12 * len(tags) + 4
    for tag in sorted(tags):
        values = tags[tag]
        data = struct.pack(f"{order}{len(values)}H", *values)
        if len(data) > 4:
            place, behind = struct.pack(order + "I", end + len(behind)), behind + data
        else:
            place = data.ljust(4, b"\0")
        entries += struct.pack(order + "HHI", tag, 3, len(values)) + place
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, at)
    return head + b"".join(strips) + struct.pack(order + "H", len(tags)) + entries + b"\0" * 4 + behind


def tiles(pixels, side=16):
    padded = np.pad(pixels, ((0, -HEIGHT % side), (0, -WIDTH % side), (0, 0)))
    return [padded[y:y + side, x:x + side].tobytes() for y in range(0, HEIGHT, side) for x in range(0, WIDTH, side)]


def bmp(rows, bits, packing=0, palette=b"", masks=b"", height=HEIGHT):
    begin = 14 + 40 + len(masks) + len(palette)
    info = struct.pack("<IiiHHIIiiII", 40, WIDTH, height, 1, bits, packing, len(rows), 0, 0, len(palette) // 4, 0)
    return b"BM" + struct.pack("<IHHI", begin + len(rows), 0, 0, begin) + info + masks + palette + rows


def bmp_rows(samples):
    return b"".join(row.tobytes() + b"\0" * (-row.nbytes % 4) for row in samples)


def runs(indices, halves):
    """Rows from the last on: a run, then literal pixels, each row with its end."""
    run, data = 3 if halves else 4, b""  # Pillow 11.3 misreads an odd number of literal halves
    for row in indices[::-1]:
        row = [int(v) for v in row]
        data += bytes([run, row[0] * 17 if halves else row[0]])
        rest = row[run:]
        if halves:
            literal = bytes(a << 4 | b for a, b in zip(rest[::2], rest[1::2] + [0] * (len(rest) % 2)))
        else:
            literal = bytes(rest)
        data += bytes([0, len(rest)]) + literal + b"\0" * (len(literal) % 2) + b"\0\0"
    return data + b"\0\1"


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
    grey16 = np.ascontiguousarray(deep[..., 0].astype(np.uint16))
    few = np.asarray(colour.quantize(16)).copy()
    few[:, 1:4] = few[:, :1]  # begins each row with a run
    few_colours = bytes(v for i in range(16) for v in (i * 16, 255 - i * 9, i * i % 256, 0))
    premultiplied = (pixels * (np.asarray(alpha)[..., None] / 255)).astype(np.uint8)
    five_six_five = (pixels[..., 0].astype("<u2") >> 3 << 11) | (pixels[..., 1].astype("<u2") >> 2 << 5) | (pixels[..., 2].astype("<u2") >> 3)
    plain = " ".join(str(v) for v in pixels.reshape(-1) // 2)
    bits = (np.asarray(grey) > 127).astype(np.uint8)
    size = b"%d %d\n" % (WIDTH, HEIGHT)
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
        "lossy.webp": saved(colour, format="WEBP", quality=80),
        "lossless.webp": saved(colour, format="WEBP", lossless=True),
        "alpha.webp": saved(transparent, format="WEBP", lossless=True, exact=True),
        "lossy_with_alpha.webp": saved(transparent, format="WEBP", quality=70),
        "animated.webp": saved(colour, format="WEBP", lossless=True, save_all=True, append_images=[colour.rotate(180)]),
        "turned.webp": saved(colour, format="WEBP", lossless=True, exif=turned),
        "colour.tif": saved(colour, format="TIFF"),
        "lzw.tif": saved(colour, format="TIFF", compression="tiff_lzw"),
        "deflate.tiff": saved(colour, format="TIFF", compression="tiff_adobe_deflate"),
        "packbits.tif": saved(colour, format="TIFF", compression="packbits"),
        "jpeg.tif": saved(colour, format="TIFF", compression="jpeg"),
        "grey.tif": saved(grey, format="TIFF"),
        "one_bit.tif": saved(colour.convert("1"), format="TIFF", compression="group4"),
        "palette.tif": saved(palette, format="TIFF", compression="tiff_lzw"),
        "alpha.tif": saved(transparent, format="TIFF"),
        "cmyk.tif": saved(colour.convert("CMYK"), format="TIFF", compression="tiff_lzw"),
        "turned.tif": saved(colour, format="TIFF", exif=turned),
        "grey_of_sixteen_bits.tif": saved(Image.fromarray(grey16), format="TIFF"),
        "white_is_zero.tif": tiff([(255 - np.asarray(grey)).tobytes()], bits=(8,), interpretation=0),
        "sixteen_bits.tif": tiff([deep.tobytes()], bits=(16, 16, 16), order=">"),
        "sixteen_bits_little_endian.tif": tiff([deep.astype("<u2").tobytes()], bits=(16, 16, 16)),
        "planes.tif": tiff([pixels[..., c].tobytes() for c in range(3)], t284=2),
        "tiles.tif": tiff(tiles(pixels), t322=16, t323=16),
        "premultiplied.tif": tiff([np.dstack([premultiplied, np.asarray(alpha)]).tobytes()], bits=(8, 8, 8, 8), t338=1),
        "colour.bmp": saved(colour, format="BMP"),
        "alpha.bmp": saved(transparent, format="BMP"),
        "grey.bmp": saved(grey, format="BMP"),
        "palette.bmp": saved(palette, format="BMP"),
        "one_bit.bmp": saved(colour.convert("1"), format="BMP"),
        "top_down.bmp": bmp(bmp_rows(pixels[..., ::-1]), 24, height=-HEIGHT),
        "fifteen_bits.bmp": bmp(bmp_rows((five_six_five >> 1 & 0x7fe0 | five_six_five & 31)[::-1]), 16),
        "sixteen_bits.bmp": bmp(bmp_rows(five_six_five[::-1]), 16, 3, masks=struct.pack("<III", 0xf800, 0x7e0, 0x1f)),
        "masks.bmp": bmp(bmp_rows(np.dstack([np.asarray(alpha), pixels[..., ::-1]])[::-1]), 32, 3,
                         masks=struct.pack("<III", 0xff000000, 0xff0000, 0xff00)),
        "runs.bmp": bmp(runs(few, halves=False), 8, 1, palette=few_colours),
        "runs_of_halves.bmp": bmp(runs(few, halves=True), 4, 2, palette=few_colours),
        "colour.ppm": saved(colour, format="PPM"),
        "grey.pgm": saved(grey, format="PPM"),
        "one_bit.pbm": saved(colour.convert("1"), format="PPM"),
        "plain.ppm": b"P3\n# made by hand\n" + size + b"127\n" + plain.encode() + b"\n",
        "plain.pgm": b"P2 " + size + b"200\n" + " ".join(str(v) for v in np.asarray(grey).reshape(-1) // 2).encode(),
        "plain.pbm": b"P1\n" + size + b"\n".join(b"".join(b"%d" % v for v in row) for row in bits),
        "sixteen_bits.ppm": b"P6 " + size + b"65535\n" + deep.tobytes(),
        "six_bits.pnm": b"P6 " + size + b"63\n" + (pixels // 4).tobytes(),
    }
    for tag in range(1, 9):
        turned[0x0112] = tag
        files[f"orientation_{tag}.jpg"] = saved(colour, format="JPEG", quality=90, exif=turned)
    return files


def write_archive(files):
    with gzip.GzipFile(OUT, "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def main():
    cases, upright, pixels = [], [], []

    def add(to, name, image):
        if image.mode.startswith("I;16"):
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        read = np.asarray(image.convert("RGB"))
        to.append({"file": name, "height": read.shape[0], "width": read.shape[1], "offset": sum(part.size for part in pixels)})
        pixels.append(read.reshape(-1))

    files = make_files()
    for name, data in files.items():
        add(cases, name, Image.open(io.BytesIO(data)))
    for name, data in files.items():
        if name.startswith(("turned", "orientation")):
            add(upright, name, ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
    array = io.BytesIO()
    np.save(array, np.concatenate(pixels))
    made_with = {"pillow": PIL.__version__, "numpy": np.__version__}
    lists = ",\n".join(f'"{key}": [\n' + ",\n".join(map(json.dumps, list_)) + "\n]" for key, list_ in (("cases", cases), ("upright", upright)))
    text = f'{{"made_with": {json.dumps(made_with)},\n{lists}}}\n'
    write_archive(files | {"pixels.npy": array.getvalue(), "cases.json": text.encode()})


main()
