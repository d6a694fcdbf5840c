// The protocol `tsne`: a t-SNE plot of each evaluated split, on which images of similar features are close (neighbour_map.h).
//
// Features are the encoder's pooled output divided by its norm, as the losses and kNN compare them. At most `samples` images of a split are
// shown, chosen by the seed (those of `geometry`). `perplexity` is, roughly, how many neighbours an image has; above 1 and below the number
// of images less one. A t-SNE plot shows which images are near each other; sizes of clusters and distances between them mean little.
//
// SPLIT.tsne_kl: the divergence KL(p || q) that remains; lower is a truer map of the same images at the same perplexity.
#pragma once

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"

namespace debias {

struct TsneOptions {
  int64_t samples = 2000;
  Auto<double> perplexity = {};
  int64_t iterations = 1000;
  Auto<int64_t> seed = {};
  void describe(OptionVisitor& o);
};

// The perplexity of the options: theirs, or 30, or a third of fewer than 90 images. A usage error naming `split` when it is not
// below `images` - 1.
double resolve_perplexity(const TsneOptions& options, int64_t images, const std::string& split);

std::vector<Metric> tsne_metrics();

// Details: "map": {SPLIT: {"ids", "points": [[x, y], ...], "labels", "bias" (where any is known), "kl", "perplexity"}}. Labels are not
// needed. Data error on a split of fewer than 4 images.
EvaluationResult run_tsne(const EvaluationInput& input, EvaluationCache& cache, const TsneOptions& options, Progress& progress);

}  // namespace debias
