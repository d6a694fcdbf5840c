"""A Lightning module trained by two processes (DDP, Gloo), whose loss is that of the batch of both: one line."""

import logging
import warnings

import pytorch_lightning as lightning
import torch
from lightly.loss import NTXentLoss
from pytorch_lightning.strategies import DDPStrategy

import debias
from before_and_after import ratio, report


class SimCLR(lightning.LightningModule):
    def __init__(self, criterion):
        super().__init__()
        torch.manual_seed(0)
        self.encoder = torch.nn.Sequential(torch.nn.Linear(48, 64), torch.nn.ReLU(), torch.nn.Linear(64, 128))
        self.criterion = criterion

    def training_step(self, batch, index):
        x0, x1 = batch
        self.last = self.criterion(self.encoder(x0), self.encoder(x1))
        return self.last

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def train(criterion):
    torch.manual_seed(1)
    x = torch.randn(512, 48)
    data = torch.utils.data.TensorDataset(x, x + 0.3 * torch.randn_like(x))
    module = SimCLR(criterion)
    trainer = lightning.Trainer(accelerator="cpu", devices=2, max_epochs=1, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False,
                                strategy=DDPStrategy(process_group_backend="gloo", start_method="spawn"))
    trainer.fit(module, torch.utils.data.DataLoader(data, batch_size=64))  # 64 from each process: a loss of 128
    return module


def weights_of(module):
    return torch.nn.utils.parameters_to_vector(module.encoder.parameters())


if __name__ == "__main__":
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="pytorch_lightning|torch")
    theirs = NTXentLoss(temperature=0.5, gather_distributed=True)
    criterion = debias.InfoNCELoss(temperature=0.5, gather_distributed=True)  # was: NTXentLoss(temperature=0.5, gather_distributed=True)
    before, after = (weights_of(train(loss)) for loss in (theirs, criterion))
    start = weights_of(SimCLR(criterion))
    print(f"lightning: weights moved by {(before - start).norm():.4f} before, {(after - start).norm():.4f} after; "
          f"difference {(before - after).abs().max():.1e}")
    z0, z1 = torch.randn(2, 512, 128)
    report("lightning", theirs(z0, z1).item(), criterion(z0, z1).item(), ratio(theirs, criterion, z0, z1))
