// Images held out from a train split: `hold_out: N` removes N of them, `split: held_out` is exactly those N.
//
// Stratified by label: N n_c / n images of a class with n_c of the n images are held out, the remainders going to the classes with the
// largest fractions (the lower label first). Which images of a class is a function of the seed. Both parts keep the source's order
// and ids.
//
// Samples of one group stay on one side: groups come in an order that the seed decides, and one is held out if that brings the counts of the
// classes nearer to those above (by the sum of squares). The number held out is then near N. Copies of one image (near_copies.h) likewise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "debias/core/options.h"
#include "debias/data/dataset.h"
#include "debias/data/near_copies.h"

namespace debias {

struct HoldOutOptions {
  int64_t count = 0;
  int64_t seed = 0;
  void describe(OptionVisitor& o) {
    o("hold_out", count, Range::closed(0, 1e9), "number of images to remove from train, stratified by class; `split: held_out` has them");
    o("seed", seed, Range::closed(0, 9e15), "random seed of the data set; in a recipe, `run` means the run's seed");
  }
};

struct HoldOutParts {
  std::vector<int64_t> kept;      // indices, ascending
  std::vector<int64_t> held_out;  // indices, ascending
};

// `labels[i]` of image i; kUnknown is a stratum of its own. `groups[i]` is its group; kUnknown, or no `groups`: the image alone. A usage error
// unless 0 <= count < labels.size(), and where all images are one group.
HoldOutParts partition_hold_out(const std::vector<int64_t>& labels, int64_t count, uint64_t seed, const std::vector<int64_t>& groups = {});

enum class HoldOutPart { kKept, kHeldOut };

// One part of a train split. With hold_out 0 the kept part is `train` itself, and the held-out part is rejected (usage error). Where nothing
// says groups, `copies` finds images of one source, which stay on one side as well.
std::unique_ptr<Dataset> take_hold_out_part(std::unique_ptr<Dataset> train, const HoldOutOptions& options, HoldOutPart part,
                                            const std::function<NearCopies(const Dataset&)>& copies = {});

}  // namespace debias
