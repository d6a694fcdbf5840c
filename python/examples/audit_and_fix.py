"""Frozen features, as DINOv2 or CLIP gives them: which column gives the class away, and a head that does not use it.

The features are drawn: a class and a background that agrees with it in nine of ten training images, the background stronger than the class. The
program `debias` audits and corrects; everything else is PyTorch.
"""

import pathlib
import tempfile

import torch

import debias

SAMPLES, WIDTH = 1200, 32
CLASSES, PLACES = ["landbird", "waterbird"], ["land", "water"]


def features(generator):
    """Vectors, labels, backgrounds and splits; in the test split background and class are independent."""
    label = torch.randint(2, (SAMPLES,), generator=generator)
    split = ["train", "train", "valid", "test"] * (SAMPLES // 4)
    biased = torch.tensor([0.5 if one == "test" else 0.9 for one in split])
    place = torch.where(torch.rand(SAMPLES, generator=generator) < biased, label, 1 - label)
    directions = torch.linalg.qr(torch.randn(WIDTH, WIDTH, generator=generator)).Q
    vectors = torch.randn(SAMPLES, WIDTH, generator=generator) + 2 * label[:, None] * directions[0] + 5 * place[:, None] * directions[1]
    return vectors, [CLASSES[one] for one in label], [PLACES[one] for one in place], split


if __name__ == "__main__":
    vectors, labels, places, split = features(torch.Generator().manual_seed(0))
    camera = torch.randint(3, (SAMPLES,), generator=torch.Generator().manual_seed(1))
    table = debias.FeatureTable(vectors, labels, split=split, columns={"background": places, "camera": camera})
    found = debias.audit(table)
    print(f"{table}: shortcuts {', '.join(one.name for one in found.shortcuts)}")
    biased = debias.FeatureTable(vectors, labels, bias={"background": places}, split=split)
    with tempfile.TemporaryDirectory() as folder:
        fixed = debias.fix(biased, pathlib.Path(folder) / "fixed")
    before, after = fixed.before["test"], fixed.after["test"]
    own = torch.tensor([predicted == label for predicted, label, one in zip(fixed.predict(vectors), labels, split) if one == "test"])
    print(f"method {fixed.method}; worst group of the test split: {before['worst_group_acc']:.3f} before, {after['worst_group_acc']:.3f} after; "
          f"accuracy {before['acc']:.3f} before, {after['acc']:.3f} after, {own.float().mean():.3f} by the head in PyTorch")
