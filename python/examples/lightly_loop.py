"""SimCLR as lightly's examples write it, with a loss of debias in place of lightly's: one line."""

import torch
from lightly.loss import NTXentLoss
from lightly.models.modules import SimCLRProjectionHead

import debias
from before_and_after import ratio, report


def train(criterion, batches=20, samples=256):
    torch.manual_seed(0)
    backbone = torch.nn.Sequential(torch.nn.Linear(48, 64), torch.nn.ReLU())
    model = torch.nn.Sequential(backbone, SimCLRProjectionHead(64, 64, 128))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    centres = torch.randn(10, 48)
    for _ in range(batches):
        x = centres[torch.randint(10, (samples,))] + 0.3 * torch.randn(samples, 48)
        z0, z1 = (model(x + 0.2 * torch.randn_like(x)) for _ in range(2))
        loss = criterion(z0, z1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss.item(), (z0, z1)


if __name__ == "__main__":
    theirs = NTXentLoss(temperature=0.5)
    criterion = debias.InfoNCELoss(temperature=0.5)  # was: criterion = NTXentLoss(temperature=0.5)
    before, _ = train(theirs)
    after, views = train(criterion)
    report("lightly", before, after, ratio(theirs, criterion, *(torch.cat([view] * 4) for view in views)))
