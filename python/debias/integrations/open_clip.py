"""TwoTowerLoss as a replacement of open_clip's losses.

    from debias.integrations.open_clip import TwoTowerClipLoss
    loss = TwoTowerClipLoss("debiased_negatives", tau_plus=0.01)      # was: open_clip.ClipLoss()
    losses = loss(**model_out, output_dict=True)                      # as open_clip's training loop calls it
"""

import open_clip  # noqa: F401  the adapter serves this library

from ..two_tower import TwoTowerLoss


class TwoTowerClipLoss(TwoTowerLoss):
    """`debias.TwoTowerLoss` with the arguments of `open_clip.ClipLoss` and `SigLipLoss`: features, logit_scale, logit_bias, output_dict.

    It also takes the keywords of TwoTowerLoss's call (ids, labels, targets, guide). In several processes, set gather_distributed=True instead
    of open_clip's world_size and local_loss.
    """

    def forward(self, image_features, text_features, logit_scale=None, logit_bias=None, output_dict=False, **keywords):
        value = super().forward(image_features, text_features, logit_scale=logit_scale, logit_bias=logit_bias, **keywords)
        return {"contrastive_loss": value} if output_dict else value
