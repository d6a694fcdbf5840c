"""A CLIP-like loop on pairs of which some share their caption: its id makes them positives of each other.

Each of ten concepts has ten captions, so that one negative in ten is false. The towers learn from pairs alone, with the concepts' ids, and
with the debiased loss, which knows only how frequent false negatives are. Printed: how often an image's nearest text is of its concept.
"""

import math

import torch

import debias

CONCEPTS, SAMPLES, WIDTH = 10, 256, 24


def batches(count, generator):
    """Images and texts of the same concept, with the concept's id."""
    centres = torch.randn(2, CONCEPTS, WIDTH, generator=torch.Generator().manual_seed(0))
    for _ in range(count):
        ids = torch.randint(CONCEPTS, (SAMPLES,), generator=generator)
        yield *(centre[ids] + 1.5 * torch.randn(SAMPLES, WIDTH, generator=generator) for centre in centres), ids


def towers():
    torch.manual_seed(1)
    return (torch.nn.Sequential(torch.nn.Linear(WIDTH, 64), torch.nn.ReLU(), torch.nn.Linear(64, 16)) for _ in range(2))


def train(objective, with_ids, **options):
    image_tower, text_tower = towers()
    log_scale = torch.nn.Parameter(torch.tensor(math.log(5.0)))
    loss_fn = debias.TwoTowerLoss(objective, **options)
    optimizer = torch.optim.Adam([*image_tower.parameters(), *text_tower.parameters(), log_scale], lr=2e-3)
    for images, texts, ids in batches(60, torch.Generator().manual_seed(2)):
        loss = loss_fn(image_tower(images), text_tower(texts), logit_scale=log_scale.exp().clamp(max=100), ids=ids if with_ids else None)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    images, texts, ids = next(batches(1, torch.Generator().manual_seed(3)))
    with torch.no_grad():
        z, w = (torch.nn.functional.normalize(tower(rows), dim=1) for tower, rows in ((image_tower, images), (text_tower, texts)))
    others = (z @ w.T).fill_diagonal_(-2)
    return (ids[others.argmax(1)] == ids).float().mean().item()


if __name__ == "__main__":
    tau_plus = debias.prior.from_labels(torch.arange(SAMPLES) % CONCEPTS).tau_plus
    print(f"nearest other text of the image's concept: {train('infonce', False):.3f} by pairs, "
          f"{train('debiased_negatives', False, tau_plus=tau_plus):.3f} debiased, {train('infonce', True):.3f} with ids")
