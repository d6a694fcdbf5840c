#!/usr/bin/env python3
"""benchmarks/compare_embedding.py [--debias PATH] [--images N] [--models NAME...] [--repeats R]: frozen features of a folder of photographs at
224 pixels, decoding included, by `debias embed --encoder` and by torchvision with a DataLoader.

Both read the same JPEG files (500 x 375 pixels), take the centre of the image whose short side is 256 pixels, and have the same weights (drawn
at random by torchvision). The features are compared first. Then both are timed in turns, in float32 and in bfloat16; torchvision with one and with
two processes that load, images decoded by Pillow and by torchvision.io: its best time counts. Ours is the whole command, torchvision's without the
start of Python. Prints medians, images a second, and the ratio of times.

Needs torch, torchvision, pillow, numpy and safetensors, which `make test-python` installs into build/python-env:

    build/python-env/bin/python benchmarks/compare_embedding.py
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import torch
import torchvision
from PIL import Image
from safetensors.torch import save_file
from torchvision.transforms import v2

from compare_views import smooth_noise
from process_cost import DEBIAS

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def vit_small():
    return torchvision.models.VisionTransformer(image_size=224, patch_size=16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536)


MODELS = {
    "mobilenet_v2": (torchvision.models.mobilenet_v2, "classifier", "{name: mobilenet_v2, weights: F}"),
    "resnet18": (torchvision.models.resnet18, "fc", "{name: resnet18, stem: imagenet, weights: F}"),
    "resnet50": (torchvision.models.resnet50, "fc", "{name: resnet50, stem: imagenet, weights: F}"),
    "vit_small": (vit_small, "heads", "{name: vit_small, weights: F, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}"),
}


class Files(torch.utils.data.Dataset):
    def __init__(self, paths, by_pillow):
        self.paths, self.by_pillow = paths, by_pillow
        first = [v2.PILToTensor()] if by_pillow else []
        self.view = v2.Compose([v2.Resize(256, antialias=True), v2.CenterCrop(224), *first, v2.ToDtype(torch.float32, scale=True),
                                v2.Normalize(MEAN, STD)])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        if self.by_pillow:
            return self.view(Image.open(self.paths[i]).convert("RGB"))
        return self.view(torchvision.io.decode_image(str(self.paths[i]), torchvision.io.ImageReadMode.RGB))


def of_torchvision(model, paths, precision, workers, by_pillow):
    loader = torch.utils.data.DataLoader(Files(paths, by_pillow), batch_size=64, num_workers=workers)
    rows = []
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        for images in loader:
            rows.append(model(images.contiguous(memory_format=torch.channels_last)).float())
    return torch.cat(rows).numpy()


def ours(options, folder, section, precision, out):
    for file in out.parent.glob(out.name + "*"):
        file.unlink()
    command = [options.debias, "embed", str(folder), "--encoder", section, "--precision", precision, "--out", str(out), "--quiet", "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return numpy.load(f"{out}.npy")


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def compare(options, name, folder, work):
    torch.manual_seed(1)
    make, classifier, section = MODELS[name]
    model = make().eval()
    weights = work / f"{name}.safetensors"
    save_file({key: value.contiguous() for key, value in model.state_dict().items() if not key.startswith(classifier)}, str(weights))
    setattr(model, classifier, torch.nn.Identity())
    model = model.to(memory_format=torch.channels_last)
    section = section.replace("F}", f"{weights}}}").replace("F,", f"{weights},")
    paths = sorted(folder.rglob("*.jpg"))
    theirs, mine = of_torchvision(model, paths, "fp32", 2, True), ours(options, folder, section, "fp32", work / "z")
    cosine = float(((theirs * mine).sum(1) / numpy.linalg.norm(theirs, axis=1) / numpy.linalg.norm(mine, axis=1)).min())
    assert mine.shape == theirs.shape and cosine > 0.999, (name, mine.shape, theirs.shape, cosine)

    ways = list(itertools.product((1, 2), (True, False)))
    for precision in options.precisions:
        own, other = [], {way: [] for way in ways}
        for _ in range(options.repeats):
            own.append(timed(ours, options, folder, section, precision, work / "z")[0])
            for way in ways:
                other[way].append(timed(of_torchvision, model, paths, precision, *way)[0])
        way = min(ways, key=lambda each: statistics.median(other[each]))
        best, mine_s = statistics.median(other[way]), statistics.median(own)
        row = {"model": name, "precision": precision, "images": len(paths), "least_cosine": round(cosine, 6), "debias_s": round(mine_s, 3),
               "torchvision_s": round(best, 3), "workers": way[0], "decoder": "pillow" if way[1] else "torchvision.io",
               "debias_images_per_s": round(len(paths) / mine_s, 1), "ratio": round(best / mine_s, 2)}
        print(json.dumps(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debias", default=DEBIAS)
    parser.add_argument("--images", type=int, default=384)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--precisions", nargs="+", choices=("fp32", "bf16"), default=["fp32", "bf16"])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    print(json.dumps({"torch": torch.__version__, "torchvision": torchvision.__version__, "threads": torch.get_num_threads(),
                      "instructions": torch.backends.cpu.get_cpu_capability()}))
    random = numpy.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for i in range(options.images):
            file = work / "photos" / f"class{i % 2}" / f"{i:05d}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(smooth_noise(375, 500, random)).save(file, quality=90)
        for name in options.models:
            compare(options, name, work / "photos", work)


if __name__ == "__main__":
    main()
