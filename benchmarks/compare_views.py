#!/usr/bin/env python3
"""benchmarks/compare_views.py [--images FILE ...] [--rounds R] [--seconds S] [--check] [--markdown]: our views against torchvision's.

Both sides start from the same uint8 pixels (or JPEG bytes) in memory and end at a normalised float32 tensor: `sim32` on 32 x 32 pixels, and
JPEG images of 500 x 375 to two `sim224` views. Rivals: torchvision's transforms on Pillow images (its GaussianBlur goes through tensors; also
with Pillow's own, quicker blur, which gives other pixels), and its v2 transforms on tensors. All run in turn, a short round each, every one
on the same core; the table has the median processor time of a view (other programs on the machine take none of it) and the median of the
rounds' ratios. Last, ours on two cores against one, by the clock on the wall, with what that does to the processor time of a view.

--check compares the fixed steps of `debias views apply` with torchvision's functional ones on Pillow images instead of timing anything.
--images takes pictures (cut and scaled to 500 x 375); without it they are drawn: noise as smooth as photographs are.

Needs torch 2.11.0, torchvision 0.26.0, Pillow 11.3.0 and numpy from PyPI, and build/release/bin/{view_bench,debias}; for example
    make build
    python3 -m venv build/views-env
    build/views-env/bin/pip install torch==2.11.0 torchvision==0.26.0 pillow==11.3.0 numpy
    build/views-env/bin/python benchmarks/compare_views.py
"""

import argparse
import io
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image, ImageFilter
from torchvision import transforms
from torchvision.transforms import functional, v2

BIN = pathlib.Path(__file__).resolve().parent.parent / "build" / "release" / "bin"
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
GOALS = {"sim32": 30, "jpeg": 6}


def smooth_noise(height, width, rng):
    """Noise whose spectrum falls off as 1/f, three channels that resemble each other."""
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(height) * height, np.fft.fftfreq(width) * width, indexing="ij"))
    planes = []
    shared = rng.standard_normal((height, width))
    for _ in range(3):
        spectrum = np.fft.fft2(shared + 0.4 * rng.standard_normal((height, width))) / np.maximum(frequency, 1)
        planes.append(np.fft.ifft2(spectrum).real)
    planes = np.stack(planes, -1)
    return np.clip(128 + 55 * planes / planes.std(), 0, 255).astype(np.uint8)


def pictures(paths, rng):
    if not paths:
        return [smooth_noise(375, 500, rng) for _ in range(8)]
    return [np.asarray(functional.center_crop(functional.resize(Image.open(p).convert("RGB"), 500), [375, 500])) for p in paths]


def jpeg_bytes(array):
    out = io.BytesIO()
    Image.fromarray(array).save(out, "JPEG", quality=92)
    return out.getvalue()


def opened(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


# The rivals: sources in memory to normalised tensors.


class PillowBlur:
    """Pillow's own blur (extended box blurs: other pixels), as many training scripts have it."""

    def __call__(self, image):
        return image.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2.0)))


def pillow_steps(size, blur):
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(size, scale=(0.08, 1.0)),
            transforms.RandomHorizontalFlip(),
            transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            transforms.RandomGrayscale(0.2),
            transforms.RandomApply([blur], p=0.5),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )


def tensor_steps(size, kernel):
    return v2.Compose(
        [
            v2.RandomResizedCrop(size, scale=(0.08, 1.0), antialias=True),
            v2.RandomHorizontalFlip(),
            v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            v2.RandomGrayscale(0.2),
            v2.RandomApply([v2.GaussianBlur(kernel, (0.1, 2.0))], p=0.5),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )


class Rival:
    """`views(n)` makes n views, two of each source in turn."""

    def __init__(self, sources, load, steps):
        self.sources, self.load, self.steps, self.next = sources, load, steps, 0

    def views(self, count):
        for _ in range(count // 2):
            image = self.load(self.sources[self.next % len(self.sources)])
            self.next += 1
            for _ in range(2):
                self.steps(image)

    def seconds(self, count):
        start = time.process_time()
        self.views(count)
        return time.process_time() - start


class Ours:
    def __init__(self, process, case):
        self.process, self.case = process, case

    def seconds(self, count):
        return self.both_seconds(1, count)[1]

    def both_seconds(self, threads, count):
        """By the clock, and of the processor."""
        self.process.stdin.write(f"{self.case} {threads} {count}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("compare_views: view_bench ended; its values are not those of its pixels, or it does not run here")
        return tuple(map(float, answer.split()))


def count_for(side, seconds):
    """An even number of views that take about so many seconds."""
    count = 2
    while (taken := side.seconds(count)) < seconds / 4:
        count *= 2
    return max(2, int(count * seconds / taken) // 2 * 2)


def interleaved(sides, rounds, seconds):
    """Seconds a view, by side, one of each round."""
    counts = {name: count_for(side, seconds) for name, side in sides.items()}
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            times[name].append(side.seconds(counts[name]) / counts[name])
    return times


def row(cells, markdown):
    print("| " + " | ".join(cells) + " |" if markdown else "".join(f"{cell:>22}" for cell in cells), flush=True)


def report(title, times, goal, markdown):
    ours = times["ours"]
    for name, theirs in times.items():
        ratios = [b / a for a, b in zip(ours, theirs)]
        ratio = statistics.median(ratios)
        low, high = np.quantile(ratios, [0.25, 0.75])
        verdict = "" if name != "torchvision, Pillow" else f"{'met' if ratio >= goal else 'MISSED'} (goal {goal})"
        row([title, name, f"{statistics.median(theirs) * 1e6:.1f}", f"{ratio:.1f}", f"{low:.1f}-{high:.1f}", verdict], markdown)


def scale(case, ours, arguments):
    count = count_for(ours, arguments.seconds) // 4 * 4 or 4
    gains, costs = [], []
    for _ in range(arguments.rounds):
        (wall, processor), (wall_of_two, processor_of_two) = ours.both_seconds(1, count), ours.both_seconds(2, count)
        gains.append(wall / wall_of_two)
        costs.append(processor_of_two / processor)
    gain, cost = statistics.median(gains), statistics.median(costs)
    low, high = np.quantile(gains, [0.25, 0.75])
    row([case, "ours, 2 cores / 1", f"processor time x{cost:.2f}", f"{gain:.2f}", f"{low:.2f}-{high:.2f}",
         f"{'met' if gain >= 1.8 else 'MISSED'} (goal 1.8)"], arguments.markdown)


def compare(arguments):
    rng = np.random.default_rng(1)
    photos = pictures(arguments.images, rng)
    files = [jpeg_bytes(photo) for photo in photos]
    small = [np.asarray(Image.fromarray(photo).resize((32, 32), Image.BILINEAR)) for photo in photos]
    corners = [(y, x) for y in range(0, 340, 85) for x in range(0, 460, 115)]
    small += [np.ascontiguousarray(photo[y : y + 32, x : x + 32]) for photo in photos for y, x in corners]
    cores = sorted(os.sched_getaffinity(0))
    torch.set_num_threads(1)
    os.sched_setaffinity(0, cores[:1])
    print(f"one core; torch {torch.__version__}, torchvision {torchvision.__version__}, Pillow {PIL.__version__}; "
          f"{len(small)} images of 32 x 32, {len(files)} JPEG files of 500 x 375 ({sum(map(len, files)) // len(files) // 1024} KiB each)")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        np.save(folder / "pixels.npy", np.stack(small))
        paths = []
        for i, data in enumerate(files):
            paths.append(folder / f"{i}.jpg")
            paths[-1].write_bytes(data)
        process = subprocess.Popen([BIN / "view_bench", "--serve", folder / "pixels.npy", *paths], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        tensors = [torch.tensor(array).permute(2, 0, 1).contiguous() for array in small]
        encoded = [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files]
        cases = {
            "sim32": {
                "ours": Ours(process, "pixels"),
                "torchvision, Pillow": Rival(small, Image.fromarray, pillow_steps(32, transforms.GaussianBlur(3, (0.1, 2.0)))),
                "with Pillow's blur": Rival(small, Image.fromarray, pillow_steps(32, PillowBlur())),
                "torchvision v2": Rival(tensors, lambda tensor: tensor, tensor_steps(32, 3)),
            },
            "jpeg": {
                "ours": Ours(process, "jpeg"),
                "torchvision, Pillow": Rival(files, opened, pillow_steps(224, transforms.GaussianBlur(23, (0.1, 2.0)))),
                "with Pillow's blur": Rival(files, opened, pillow_steps(224, PillowBlur())),
                "torchvision v2": Rival(encoded, lambda data: torchvision.io.decode_jpeg(data, torchvision.io.ImageReadMode.RGB),
                                        tensor_steps(224, 23)),
            },
        }
        row(["case", "who", "us a view", "times ours", "quartiles", "verdict"], arguments.markdown)
        if arguments.markdown:
            print("|" + "---|" * 6)
        for case, sides in cases.items():
            report(case, interleaved(sides, arguments.rounds, arguments.seconds), GOALS[case], arguments.markdown)
        if len(cores) > 1:
            os.sched_setaffinity(process.pid, cores[:2])
            for case, sides in cases.items():
                scale(case, sides["ours"], arguments)
        process.stdin.close()
        process.wait()


# Fixed steps, ours and torchvision's on Pillow images.


def blurred(image, kernel, sigma):
    return functional.gaussian_blur(image, [kernel, kernel], [sigma, sigma])


STEPS = [
    ("resized_crop: {top: 3, left: 2, height: 21, width: 25, size: 32}", lambda i: functional.resized_crop(i, 3, 2, 21, 25, [32, 32])),
    ("resized_crop: {top: 1, left: 4, height: 30, width: 27, size: 14}", lambda i: functional.resized_crop(i, 1, 4, 30, 27, [14, 14])),
    ("resize: {size: 24}", lambda i: functional.resize(i, 24)),
    ("resize: {size: 128}", lambda i: functional.resize(i, 128)),
    ("hflip: {}", functional.hflip),
    ("center_crop: {size: 27}", lambda i: functional.center_crop(i, 27)),
    ("pad: {padding: 4}", lambda i: functional.pad(i, 4)),
    ("brightness: {factor: 0.7}", lambda i: functional.adjust_brightness(i, 0.7)),
    ("brightness: {factor: 1.4}", lambda i: functional.adjust_brightness(i, 1.4)),
    ("contrast: {factor: 0.6}", lambda i: functional.adjust_contrast(i, 0.6)),
    ("contrast: {factor: 1.3}", lambda i: functional.adjust_contrast(i, 1.3)),
    ("saturation: {factor: 0.65}", lambda i: functional.adjust_saturation(i, 0.65)),
    ("saturation: {factor: 1.35}", lambda i: functional.adjust_saturation(i, 1.35)),
    ("hue: {factor: 0.1}", lambda i: functional.adjust_hue(i, 0.1)),
    ("hue: {factor: -0.37}", lambda i: functional.adjust_hue(i, -0.37)),
    ("grayscale: {}", lambda i: functional.rgb_to_grayscale(i, 3)),
    ("gaussian_blur: {kernel: 3, sigma: 1.3}", lambda i: blurred(i, 3, 1.3)),
    ("gaussian_blur: {kernel: 23, sigma: 2.0}", lambda i: blurred(i, 23, 2.0)),
    ("rotate: {degrees: 17.5}", lambda i: functional.rotate(i, 17.5)),
]


def check(arguments):
    rng = np.random.default_rng(2)
    photo = pictures(arguments.images[:1], rng)[0]
    worst = 0
    row(["step", "values within 1, %", "largest difference", "verdict"], arguments.markdown)
    if arguments.markdown:
        print("|" + "---|" * 4)
    with tempfile.TemporaryDirectory() as folder:
        source, result = pathlib.Path(folder) / "in.png", pathlib.Path(folder) / "out.png"
        for step, theirs in STEPS:
            limit = 4 if step.startswith("hue") else 3
            share, largest = 1.0, 0
            for height, width in ((32, 32), (96, 96), (375, 500)):
                scaled = np.asarray(Image.fromarray(photo).resize((width, height), Image.BILINEAR))
                for array in (rng.integers(0, 256, (height, width, 3), dtype=np.uint8), scaled):
                    image = Image.fromarray(array)
                    image.save(source)
                    subprocess.run([BIN / "debias", "views", "apply", "--image", source, "--out", result, step], check=True)
                    ours, expected = np.asarray(Image.open(result)).astype(int), np.asarray(theirs(image)).astype(int)
                    if ours.shape != expected.shape:
                        sys.exit(f"compare_views: {step}: ours is {ours.shape}, torchvision's {expected.shape}")
                    difference = np.abs(ours - expected)
                    share, largest = min(share, float((difference <= 1).mean())), max(largest, int(difference.max()))
            fine = share >= 0.995 and largest <= limit
            worst |= not fine
            row([step, f"{share * 100:.3f}", f"{largest}", "" if fine else "MISSED"], arguments.markdown)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", nargs="+", default=[], metavar="FILE")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each round of each side")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    return check(arguments) if arguments.check else compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
