"""TwoTowerLoss as a replacement of open_clip's losses.

    from debias.integrations.open_clip import TwoTowerClipLoss
    loss = TwoTowerClipLoss("debiased_negatives", tau_plus=0.01)      # was: open_clip.ClipLoss()
    losses = loss(**model_out, output_dict=True)                      # as open_clip's training loop calls it
"""

import open_clip  # noqa: F401  the adapter serves this library
import torch

from .._gather import _world
from ..two_tower import TwoTowerLoss


class TwoTowerClipLoss(TwoTowerLoss):
    """`debias.TwoTowerLoss` with the arguments of `open_clip.ClipLoss` and `SigLipLoss`: features, logit_scale, logit_bias, output_dict.

    It also takes the keywords of TwoTowerLoss's call (ids, labels, targets, guide, negatives), and those with which open_clip makes its losses:
    world_size above 1 sets gather_distributed. Every process then computes the loss of all pairs, with the gradient of
    gather_with_grad=True. That is also the gradient of local_loss=True, so rank, local_loss, gather_with_grad, cache_labels and dist_impl change
    nothing. As in open_clip, a logit_bias has no effect except in siglip.
    """

    def __init__(self, objective="infonce", *, local_loss=False, gather_with_grad=False, cache_labels=False, rank=0, world_size=1,
                 use_horovod=False, dist_impl=None, bidir=True, **options):
        if use_horovod and world_size > 1:
            raise ValueError("TwoTowerClipLoss: use_horovod: expected False, got True; start the processes with torchrun")
        super().__init__(objective, **{"gather_distributed": world_size > 1, **options})
        self.world_size = world_size

    def forward(self, image_features, text_features, logit_scale=None, logit_bias=None, output_dict=False, **keywords):
        if self.world_size > 1 and _world() != self.world_size:
            raise ValueError(f"TwoTowerClipLoss: world_size: expected the {_world()} processes of torch.distributed, got {self.world_size}; call "
                             "init_process_group first")
        siglip = self.objective == "siglip"
        value = super().forward(image_features, text_features, logit_scale=logit_scale, logit_bias=logit_bias if siglip else None, **keywords)
        if isinstance(logit_bias, torch.Tensor) and logit_bias.requires_grad and not siglip:
            value = value + 0 * logit_bias.sum()  # it cancels, and DistributedDataParallel waits for its gradient
        return {"contrastive_loss": value} if output_dict else value
