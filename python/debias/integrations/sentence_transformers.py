"""TwoTowerLoss as a replacement of sentence-transformers' MultipleNegativesRankingLoss.

    from debias.integrations.sentence_transformers import TwoTowerRankingLoss
    loss = TwoTowerRankingLoss(model, "debiased_negatives", tau_plus=0.01)   # was: MultipleNegativesRankingLoss(model)
    SentenceTransformerTrainer(model=model, train_dataset=pairs, loss=loss).train()
"""

import sentence_transformers  # noqa: F401  the adapter serves this library
import torch

from ..two_tower import TwoTowerLoss


class TwoTowerRankingLoss(torch.nn.Module):
    """MultipleNegativesRankingLoss with the objectives of `debias.TwoTowerLoss`: the mean over both directions of pairs (anchor, positive).

    Further columns (negative, negative_2, ...) are further negatives of every anchor, as in MultipleNegativesRankingLoss.

    Args:
        model: the SentenceTransformer.
        objective and further options: as in `debias.TwoTowerLoss`.
        scale: factor of the cosines.
        labels_are_ids: whether pairs with the same value in the data set's label column are positives of each other.
    """

    def __init__(self, model, objective="infonce", *, scale=20.0, labels_are_ids=False, **options):
        super().__init__()
        self.model, self.labels_are_ids = model, bool(labels_are_ids)
        self.loss = TwoTowerLoss(objective, logit_scale=scale, **options)

    def forward(self, sentence_features, labels=None):
        embeddings = [self.model(features)["sentence_embedding"] for features in sentence_features]
        return self.compute_loss_from_embeddings(embeddings, labels)

    def compute_loss_from_embeddings(self, embeddings, labels=None):
        embeddings = list(embeddings)
        if len(embeddings) < 2:
            raise ValueError(f"TwoTowerRankingLoss: columns: expected at least 2, (anchor, positive, negatives ...), got {len(embeddings)}; add the "
                             "column of positives")
        if self.labels_are_ids and labels is None:
            raise ValueError("TwoTowerRankingLoss: labels: expected a label column with labels_are_ids=True, got None")
        return self.loss(*embeddings[:2], negatives=embeddings[2:] or None, ids=labels if self.labels_are_ids else None)

    def get_config_dict(self):
        return {"objective": self.loss.objective, "scale": float(self.loss.logit_scale), "tau_plus": self.loss.tau_plus,
                "labels_are_ids": self.labels_are_ids}
