"""A backbone of PyTorch, from training to a corrected head: contrastive training, frozen features, audit, fix.

Images are drawn: one of three shapes on a coloured background. The encoder learns from images in which shape and colour are independent,
as those of a pretrained backbone may be. In the task, 95 of 100 training images have the colour of their shape, so a head on the frozen
features learns the colour. The program `debias` finds that shortcut and corrects the head; everything else is PyTorch.
"""

import pathlib
import tempfile

import torch

import debias

SHAPES, COLOURS = ["bar", "cross", "ring"], ["red", "green", "blue"]
SIDE, NOISE = 20, 0.3


def drawn(shape, colour, generator):
    """Images [B, 3, 20, 20] of shapes at random places, grey on a noisy background of the colour."""
    count = len(shape)
    y, x = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    centre = torch.randint(6, SIDE - 6, (count, 2, 1, 1), generator=generator)
    down, right = (y - centre[:, 0]).abs(), (x - centre[:, 1]).abs()
    radius = (down.square() + right.square()).double().sqrt()
    kinds = torch.stack([(down <= 1) & (right <= 5), ((down <= 1) | (right <= 1)) & (down + right <= 5), (radius - 4).abs() <= 1], dim=1)
    mask = kinds[torch.arange(count), shape][:, None]
    background = torch.nn.functional.one_hot(colour, 3)[:, :, None, None] * 0.4 + 0.2
    return torch.where(mask, 0.9, background) + NOISE * torch.randn(count, 3, SIDE, SIDE, generator=generator)


def pretrained(steps, generator):
    """An encoder that has learnt to find an image again by its shape and its colour, at another place and under other noise."""
    torch.manual_seed(0)
    conv = lambda a, b, stride: [torch.nn.Conv2d(a, b, 3, stride, padding=1, bias=False), torch.nn.BatchNorm2d(b), torch.nn.ReLU()]
    encoder = torch.nn.Sequential(*conv(3, 16, 1), *conv(16, 32, 2), *conv(32, 64, 2), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    head = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32))
    criterion = debias.DebiasedNegativesLoss(temperature=0.2, tau_plus=1 / len(SHAPES))
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3)
    for _ in range(steps):
        shape, colour = torch.randint(3, (2, 128), generator=generator)
        views = [head(encoder(drawn(shape, colour, generator))) for _ in range(2)]
        loss = criterion(*views)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return encoder.eval()


def task(count, generator):
    """Shapes, colours and splits: training images have the colour of their shape, test images any."""
    split = ["train", "train", "valid", "test"] * (count // 4)
    shape = torch.randint(3, (count,), generator=generator)
    biased = torch.tensor([one != "test" for one in split]) & (torch.rand(count, generator=generator) < 0.95)
    colour = torch.where(biased, shape, torch.randint(3, (count,), generator=generator))
    return shape, colour, split


if __name__ == "__main__":
    generator = torch.Generator().manual_seed(0)
    encoder = pretrained(60, generator)
    shape, colour, split = task(2400, generator)
    with torch.no_grad():
        features = encoder(drawn(shape, colour, generator))
    labels, colours = [SHAPES[one] for one in shape], [COLOURS[one] for one in colour]
    hour = torch.randint(24, (len(shape),), generator=generator)
    found = debias.audit(debias.FeatureTable(features, labels, split=split, columns={"colour": colours, "hour": hour}))
    print(f"shortcuts {', '.join(one.name for one in found.shortcuts)}")
    with tempfile.TemporaryDirectory() as folder:
        fixed = debias.fix(debias.FeatureTable(features, labels, bias={"colour": colours}, split=split), pathlib.Path(folder) / "fixed")
    model = torch.nn.Sequential(encoder, fixed.module())                # corrected, from images to scores
    test = torch.tensor([one == "test" for one in split])
    fresh = drawn(shape[test], colour[test], generator)
    with torch.no_grad():
        predicted = [fixed.classes[one] for one in model(fresh).argmax(1)]
    own = sum(map(str.__eq__, predicted, [label for label, one in zip(labels, split) if one == "test"])) / len(predicted)
    before, after = fixed.before["test"], fixed.after["test"]
    print(f"method {fixed.method}; worst group of the test split: {before['worst_group_acc']:.3f} before, "
          f"{after['worst_group_acc']:.3f} after; accuracy {before['acc']:.3f} before, {after['acc']:.3f} after, "
          f"{own:.3f} of the whole model on other images")
