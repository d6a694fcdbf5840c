"""A loop over labelled batches as users of pytorch-metric-learning write it, with a loss of debias: one line."""

import torch
from pytorch_metric_learning import losses

import debias
from before_and_after import ratio, report


def train(loss_func, batches=20, samples=256):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(48, 64), torch.nn.ReLU(), torch.nn.Linear(64, 128))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    centres = torch.randn(10, 48)
    for _ in range(batches):
        labels = torch.randint(10, (samples,))
        data = centres[labels] + 0.5 * torch.randn(samples, 48)
        optimizer.zero_grad()
        embeddings = model(data)
        loss = loss_func(embeddings, labels)
        loss.backward()
        optimizer.step()
    return loss.item(), (embeddings, labels)


if __name__ == "__main__":
    theirs = losses.SupConLoss(temperature=0.1)
    loss_func = debias.SupConLoss(temperature=0.1)  # was: loss_func = losses.SupConLoss(temperature=0.1)
    before, _ = train(theirs)
    after, (embeddings, labels) = train(loss_func)
    report("pytorch-metric-learning", before, after, ratio(theirs, loss_func, torch.cat([embeddings] * 4), labels.repeat(4)))
