"""Writes tests/golden/dicom.tar.gz: small DICOM files and what pydicom reads from them, for tests/image/dicom_test.cpp.

    python3 -m venv venv && venv/bin/pip install pydicom==3.0.2 pillow==11.3.0 numpy==2.4.6 && venv/bin/python tests/golden/make_dicom.py

pixels.npy holds 8-bit RGB of all files one after the other; cases.json lists file, height, width and offset. Grey files with a window are as
pydicom's apply_rescale and apply_windowing give them, from black to white; every one has values on both sides of its window. Others are
stretched over the range of their stored bits. Files under "refused" are listed with a part of the reason.
"""
import gzip
import io
import json
import pathlib
import tarfile

import numpy as np
from PIL import Image
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.pixels import apply_color_lut, apply_rescale, apply_windowing, convert_color_space
from pydicom.uid import ExplicitVRBigEndian, ExplicitVRLittleEndian, ImplicitVRLittleEndian, JPEG2000Lossless, JPEGBaseline8Bit, RLELossless

OUT = pathlib.Path(__file__).parent / "dicom.tar.gz"
HEIGHT, WIDTH = 5, 7


def dataset(pixels, kind, stored, syntax=ExplicitVRLittleEndian, **fields):
    data = Dataset()
    data.file_meta = FileMetaDataset()
    data.file_meta.TransferSyntaxUID = syntax
    data.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.7"
    data.file_meta.MediaStorageSOPInstanceUID = "1.2.3"
    data.SOPClassUID, data.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.7", "1.2.3"
    data.Rows, data.Columns = HEIGHT, WIDTH
    data.PhotometricInterpretation = kind
    data.SamplesPerPixel = 3 if kind in ("RGB", "YBR_FULL") else 1
    if data.SamplesPerPixel == 3:
        data.PlanarConfiguration = 0
    data.BitsAllocated, data.BitsStored, data.HighBit = pixels.dtype.itemsize * 8, stored, stored - 1
    data.PixelRepresentation = int(pixels.dtype.kind == "i")
    for name, value in fields.items():
        setattr(data, name, value)
    order = ">" if syntax == ExplicitVRBigEndian else "<"
    raw = pixels.astype(pixels.dtype.newbyteorder(order)).tobytes()
    data.PixelData = raw + b"\0" * (len(raw) % 2)
    data["PixelData"].VR = "OB" if pixels.dtype.itemsize == 1 and syntax != ImplicitVRLittleEndian else "OW"
    return data


def saved(data):
    buffer = io.BytesIO()
    data.save_as(buffer, enforce_file_format=True)
    return buffer.getvalue()


def windowed(data):
    shown = np.asarray(apply_windowing(apply_rescale(data.pixel_array, data), data), float)
    return (shown - shown.min()) / (shown.max() - shown.min())


def stretched(data):
    low = -2 ** (data.BitsStored - 1) if data.PixelRepresentation else 0
    return (data.pixel_array.astype(float) - low) / (2 ** data.BitsStored - 1)


def grey(share):
    return np.repeat(np.rint(share * 255).astype(np.uint8)[..., None], 3, -1)


ramp = np.linspace(0, 4095, HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
twelve = ramp.astype(np.uint16)
eight = (ramp / 16).astype(np.uint8)
signed = (ramp - 2048).astype(np.int16)
colours = np.stack([eight, eight[::-1], 255 - eight], -1)

cases, refused = {}, {}


def add(name, data, expected):
    cases[name] = (saved(data), expected)


d = dataset(twelve, "MONOCHROME2", 12, WindowCenter=2000, WindowWidth=1000)
add("window.dcm", d, grey(windowed(d)))
d = dataset(twelve, "MONOCHROME2", 12, WindowCenter="2000", WindowWidth="1000", VOILUTFunction="LINEAR_EXACT")
add("window_exact.dcm", d, grey(windowed(d)))
d = dataset(twelve, "MONOCHROME2", 12, WindowCenter=["1000", "3000"], WindowWidth=["800", "100"])
add("two_windows.dcm", d, grey(windowed(d)))
d = dataset(twelve, "MONOCHROME1", 14)
add("inverted.dcm", d, grey(1 - stretched(d)))
d = dataset(twelve, "MONOCHROME1", 12, WindowCenter=2000, WindowWidth=1000)
add("inverted_window.dcm", d, grey(1 - windowed(d)))
d = dataset(signed, "MONOCHROME2", 16, RescaleSlope=2, RescaleIntercept=-1024, WindowCenter=-600, WindowWidth=1500)
add("signed.dcm", d, grey(windowed(d)))
d = dataset(signed, "MONOCHROME2", 12)
add("signed_range.dcm", d, grey(stretched(d)))
d = dataset(eight, "MONOCHROME2", 8)
add("eight_bits.dcm", d, grey(eight / 255))
d = dataset(twelve, "MONOCHROME2", 12, ImplicitVRLittleEndian)
add("implicit.dcm", d, grey(stretched(d)))
d = dataset(twelve, "MONOCHROME2", 12, ExplicitVRBigEndian)
buffer = saved(d)
cases["big_endian.dcm"] = (buffer, grey(twelve / 4095))
add("range.dcm", dataset(twelve, "MONOCHROME2", 12), grey(twelve / 4095))
add("sixteen_bits.dcm", dataset(twelve, "MONOCHROME2", 16), grey(twelve / 65535))
header = {"Manufacturer": "ACME", "StationName": "ROOM 3", "ViewPosition": "PA", "PatientSex": "F", "PatientAge": "061Y"}
add("header.dcm", dataset(eight, "MONOCHROME2", 8, SpecificCharacterSet="ISO_IR 100", PatientID="p\u00e4", **header), grey(eight / 255))
frames = np.stack([twelve, twelve[::-1], twelve // 2])
d = dataset(frames, "MONOCHROME2", 12, NumberOfFrames=3)
add("frames.dcm", d, grey(stretched(d)[0]))
d = dataset(colours, "RGB", 8)
add("rgb.dcm", d, colours)
d = dataset(np.ascontiguousarray(colours.transpose(2, 0, 1)), "RGB", 8, PlanarConfiguration=1)
add("rgb_planes.dcm", d, colours)
d = dataset(convert_color_space(colours, "RGB", "YBR_FULL"), "YBR_FULL", 8)
add("ybr.dcm", d, d.pixel_array)  # which is RGB by now
d = dataset(eight // 64, "PALETTE COLOR", 8)
for colour, values in (("Red", [0, 10, 200, 255]), ("Green", [0, 250, 3, 255]), ("Blue", [90, 0, 77, 255])):
    setattr(d, f"{colour}PaletteColorLookupTableDescriptor", [4, 0, 16])
    setattr(d, f"{colour}PaletteColorLookupTableData", (np.array(values, "<u2") * 257).tobytes())
add("palette.dcm", d, (apply_color_lut(d.pixel_array, d) >> 8).astype(np.uint8))
d = dataset(twelve, "MONOCHROME2", 12)
d.compress(RLELossless)
add("rle.dcm", d, grey(twelve / 4095))
d = dataset(eight, "MONOCHROME2", 8, JPEGBaseline8Bit)
buffer = io.BytesIO()
Image.fromarray(eight).save(buffer, "JPEG", quality=95)
d.PixelData = encapsulate([buffer.getvalue()])
d["PixelData"].is_undefined_length = True
add("jpeg.dcm", d, grey(d.pixel_array / 255))

d = dataset(eight, "MONOCHROME2", 8)
del d.PixelData
refused["report.dcm"] = (saved(d), "has no PixelData")
d = dataset(eight, "MONOCHROME2", 8)
del d.Rows
refused["no_rows.dcm"] = (saved(d), "has no Rows")
d = dataset(eight, "MONOCHROME2", 8, JPEG2000Lossless)
d.PixelData = encapsulate([b"\xff\x4f\xff\x51" + b"\0" * 40])
d["PixelData"].is_undefined_length = True
refused["jpeg2000.dcm"] = (saved(d), "compressed as JPEG 2000")
refused["cut.dcm"] = (cases["window.dcm"][0][:-20], "corrupt or truncated")
d = dataset(twelve.astype(np.uint32), "MONOCHROME2", 32)
refused["32_bits.dcm"] = (saved(d), "32 of 32 bits")

files, entries, pixels = {}, [], []
offset = 0
for name, (data, expected) in cases.items():
    files[name] = data
    entries.append({"file": name, "height": HEIGHT, "width": WIDTH, "offset": offset})
    pixels.append(np.ascontiguousarray(expected, np.uint8).ravel())
    offset += pixels[-1].size
for name, (data, _) in refused.items():
    files[name] = data
buffer = io.BytesIO()
np.save(buffer, np.concatenate(pixels))
files["pixels.npy"] = buffer.getvalue()
about = {"cases": entries, "refused": [{"file": name, "reason": reason} for name, (_, reason) in refused.items()]}
files["cases.json"] = json.dumps(about, indent=1).encode()

archive = io.BytesIO()
with tarfile.open(fileobj=archive, mode="w") as tar:
    for name in sorted(files):
        info = tarfile.TarInfo(name)
        info.size = len(files[name])
        tar.addfile(info, io.BytesIO(files[name]))
OUT.write_bytes(gzip.compress(archive.getvalue(), 9, mtime=0))
print(f"{len(files)} files, {OUT.stat().st_size} bytes")
