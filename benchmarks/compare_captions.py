#!/usr/bin/env python3
"""benchmarks/compare_captions.py CIFAR10 [--seeds N] [--epochs N] [--images N] [--temperatures T ...]: TwoTowerLoss where some negatives are false.

CIFAR10 is a folder train/CLASS/*, test/CLASS/* of images of 32 x 32. An image gets one of ten template captions of its class, drawn anew in
each epoch, so that one negative in ten of a batch is of the image's class. The image encoder is a network of four convolutions, the text encoder
the mean of word embeddings and a linear layer; batches of 256, Adam with a cosine schedule. Trained with

    plain               InfoNCE, CLIP's loss: only an image's own caption is a positive
    debiased            debiased_negatives, which knows the share of false negatives, tau_plus = 0.1, and no ids
    hard                hard_negatives with the same tau_plus and beta = 0.5
    caption ids         InfoNCE, where pairs with the same caption are positives too (a tenth of the false negatives)
    class ids           InfoNCE, where pairs of the same class are positives: what could be gained

each at every temperature. Images for validation are 2,000 of train: the temperature of a method is the one with the highest mean accuracy on them.
Metrics on the test images: zero-shot accuracy, the class whose ten captions are nearest on average; and the mean share of the image's class among
the ten nearest captions. Prints a JSON line for each run, then one for each method: mean and 95 % interval over seeds (Student's t), and the
difference to plain with the same seeds. Needs torch, numpy and Pillow.

    build/python-env/bin/python benchmarks/compare_captions.py data/cifar10
"""

import argparse
import json
import pathlib
import statistics
import sys

import numpy
import torch
from PIL import Image

import debias

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from student import interval  # noqa: E402

TEMPLATES = ("a photo of a {}", "a small picture of the {}", "a blurry photo of a {}", "one {} in the middle", "the {} seen from near",
             "a dark photo of the {}", "a bright photo of a {}", "this is a {}", "a cropped view of a {}", "a {} on some background")
BATCH = 256
METHODS = {"plain": ({"objective": "infonce"}, None), "debiased": ({"objective": "debiased_negatives", "tau_plus": 0.1}, None),
           "hard": ({"objective": "hard_negatives", "tau_plus": 0.1, "beta": 0.5}, None), "caption ids": ({"objective": "infonce"}, "captions"),
           "class ids": ({"objective": "infonce"}, "classes")}


def read(folder, of_each):
    classes = sorted(path.name for path in folder.iterdir() if path.is_dir())
    images, labels = [], []
    for label, name in enumerate(classes):
        for path in sorted((folder / name).iterdir())[:of_each]:
            images.append(numpy.asarray(Image.open(path).convert("RGB")))
            labels.append(label)
    pixels = torch.from_numpy(numpy.stack(images)).permute(0, 3, 1, 2).float().div_(255).sub_(0.5).div_(0.25)
    return classes, pixels, torch.tensor(labels)


class Images(torch.nn.Module):
    def __init__(self, width=32, dimensions=64):
        super().__init__()
        layers, inside = [], 3
        for outside in (width, 2 * width, 4 * width, 4 * width):
            layers += [torch.nn.Conv2d(inside, outside, 3, padding=1, bias=False), torch.nn.BatchNorm2d(outside), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
            inside = outside
        self.layers, self.last = torch.nn.Sequential(*layers), torch.nn.Linear(inside, dimensions)

    def forward(self, pixels):
        return self.last(self.layers(pixels).mean((2, 3)))


class Captions(torch.nn.Module):
    def __init__(self, words, dimensions=64):
        super().__init__()
        self.words, self.last = torch.nn.EmbeddingBag(words, dimensions, mode="mean", padding_idx=0), torch.nn.Linear(dimensions, dimensions)

    def forward(self, ids):
        return self.last(self.words(ids))


def captions_of(classes):
    """Word ids [classes * templates, words], 0 where a caption ends."""
    texts = [template.format(name).split() for name in classes for template in TEMPLATES]
    numbers = {word: i + 1 for i, word in enumerate(sorted({word for text in texts for word in text}))}
    longest = max(map(len, texts))
    return torch.tensor([[numbers[word] for word in text] + [0] * (longest - len(text)) for text in texts]), len(numbers) + 1


def augmented(pixels, generator):
    flipped = torch.where(torch.rand(len(pixels), 1, 1, 1, generator=generator) < 0.5, pixels.flip(3), pixels)
    padded = torch.nn.functional.pad(flipped, (4, 4, 4, 4))
    down, right = torch.randint(0, 9, (2, len(pixels)), generator=generator)
    rows, columns = down[:, None] + torch.arange(32), right[:, None] + torch.arange(32)
    return padded[torch.arange(len(pixels))[:, None, None], :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def evaluated(images, texts, pixels, labels, words):
    images.eval()
    with torch.no_grad():
        rows = torch.nn.functional.normalize(torch.cat([images(part) for part in pixels.split(1000)]), dim=1)
        keys = torch.nn.functional.normalize(texts(words), dim=1)
    images.train()
    scores = rows @ keys.T
    of_classes = scores.view(len(rows), -1, len(TEMPLATES)).mean(2)
    nearest = scores.topk(len(TEMPLATES)).indices // len(TEMPLATES)
    return {"accuracy": (of_classes.argmax(1) == labels).float().mean().item(), "precision_at_10": (nearest == labels[:, None]).float().mean().item()}


def trained(method, temperature, seed, data, options):
    settings, known = METHODS[method]
    (pixels, labels), valid, test, words, size = data
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    images, texts = Images(), Captions(size)
    loss = debias.TwoTowerLoss(**settings, logit_scale=1 / temperature)
    optimizer = torch.optim.Adam([*images.parameters(), *texts.parameters()], lr=2e-3)
    steps = len(pixels) // BATCH
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps * options.epochs)
    for _ in range(options.epochs):
        for batch in torch.randperm(len(pixels), generator=generator)[:steps * BATCH].split(BATCH):
            caption = labels[batch] * len(TEMPLATES) + torch.randint(0, len(TEMPLATES), (BATCH,), generator=generator)
            ids = {"captions": caption, "classes": labels[batch]}.get(known)
            value = loss(images(augmented(pixels[batch], generator)), texts(words[caption]), ids=ids)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            schedule.step()
    found = {"method": method, "temperature": temperature, "seed": seed, "loss": round(value.item(), 4)}
    for split, (pixels_of, labels_of) in (("valid", valid), ("test", test)):
        of_split = evaluated(images, texts, pixels_of, labels_of, words)
        found.update({f"{split}.{name}": round(number, 4) for name, number in of_split.items()})
    print(json.dumps(found), flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3, choices=range(1, 6))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--images", type=int, default=10000, help="training images")
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0.1, 0.3])
    options = parser.parse_args()
    classes, pixels, labels = read(options.folder / "train", (options.images + 2000) // 10)
    order = torch.randperm(len(pixels), generator=torch.Generator().manual_seed(0))
    parts = [(pixels[part], labels[part]) for part in (order[2000:], order[:2000])]
    words, size = captions_of(classes)
    data = (parts[0], parts[1], read(options.folder / "test", 1000)[1:], words, size)
    chosen = {}
    for method in METHODS:
        runs = {t: [trained(method, t, seed, data, options) for seed in range(options.seeds)] for t in options.temperatures}
        chosen[method] = max(runs.values(), key=lambda found: statistics.mean(run["valid.accuracy"] for run in found))
        line = {"method": method, "temperature": chosen[method][0]["temperature"]}
        for metric in ("test.accuracy", "test.precision_at_10"):
            own, base = ([run[metric] for run in chosen[name]] for name in (method, "plain"))
            line[metric] = interval(own)
            line[f"{metric} over plain"] = interval([a - b for a, b in zip(own, base)])
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
