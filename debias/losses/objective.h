// What an objective takes and returns, and the registry of objectives.
//
// Anchors are the n = V*B embeddings: row v*B + i is view v of sample i. Every row carries integers (sample, label, bias); whether row j is
// the anchor itself, another view, a positive or a negative follows from comparing them (pair_keys.h). What anchors are compared with are
// the anchors themselves, or keys of their own: rows of a queue, a bank, a momentum encoder.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/losses/late_number.h"
#include "debias/pairs/engine.h"
#include "debias/pairs/row_share.h"

namespace debias {

// The input of an objective. Undefined tensors are absent.
struct ObjectiveInput {
  at::Tensor z{};        // [B, V, D] floating point; rows of unit norm for the pairwise objectives. For logits objectives [B, C].
  at::Tensor labels{};   // int64 [B], -1 = unknown, matches nothing
  at::Tensor bias{};     // int64 [B]
  at::Tensor weights{};  // pair weights' features [B, F] (softcon, continuous fairkl)
  at::Tensor samples{};  // int64 [B] keys of "same sample"; absent: 0..B-1
  at::Tensor prior{};    // [C, G] P(y | b) (bias_balanced); absent: counted from the batch

  // Keys to compare the anchors with, in place of the anchors (objectives that take keys). Then one view is enough, and samples may repeat.
  at::Tensor keys{};              // [m, D], with or without gradient
  at::Tensor key_samples{};       // int64 [m]; absent, or negative: of no sample of the batch
  at::Tensor key_labels{};        // int64 [m], -1 = unknown
  std::optional<int64_t> self{};  // key self + a is anchor a itself; none: no key is an anchor
  // [B, P, D]: the positives of each sample's anchors, the first of them in the numerator. Objectives without labels then leave keys of the
  // anchor's sample out; those over classes join them to the keys. Absent: keys of the anchor's sample are its positives.
  at::Tensor positives{};

  Engine engine = Engine::kAuto;
  std::shared_ptr<EngineRecord> engines{};       // of one evaluation; made by the objective
  int64_t memory_budget = kDefaultMemoryBudget;  // bytes that the fused engine may hold between forward and backward
  const RowShare* row_share = nullptr;           // of the sums over pairs, where several processes have these rows; outlives the graph
  // The fused engine may round rows and weights to bfloat16 where it multiplies them, on a machine that gains by it; sums stay in float32.
  // Rows that come in bfloat16 allow it by that.
  bool bfloat16_products = false;
  // The caller vouches for what else is tested, which makes the host wait for a device: that samples differ, that labels lie in
  // their range, and that no row of z, keys or positives is longer than 1.
  bool vouched = false;
};

// A value with its evidence.
struct ObjectiveResult {
  at::Tensor value;       // 0-d, in the dtype of z (float32 for bfloat16)
  at::Tensor per_anchor;  // [anchors], view-major; but for regularisers in the value's graph; NaN for an anchor dropped from it
  int64_t anchors = 0;
  LateNumber anchors_used;
  LateNumber clamped;                      // anchors whose clamp, floor or fall-back acted (summed over view pairs)
  int64_t clampable = 0;                   // what `clamped` is of, where that is not the anchors: sets of pairs, anchors of each view pair
  std::optional<LateNumber> min_estimate;  // the smallest estimate before it acted
  // Of importance weights w over an anchor's negatives: the mean over anchors of (sum w)^2 / sum w^2, in [1, N].
  std::optional<LateNumber> effective_sample_size;
  Engine engine = Engine::kDense;  // that computed it: of several the one that held the most

  int64_t clamped_of() const { return clampable > 0 ? clampable : anchors; }
  bool fused() const { return engine == Engine::kFused; }
};

enum class InputKind { kPairs, kRegulariser, kLogits };

class Objective {
 public:
  virtual ~Objective() = default;
  virtual ObjectiveResult operator()(const ObjectiveInput& input) const = 0;
  virtual Config config() const = 0;                                     // resolved options, without the name
  virtual void set(const std::string& option, const Config& value) = 0;  // one option in force from now on (value schedules)
};

struct ObjectiveEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;  // one line: formula in words, paper and equation
  InputKind kind = InputKind::kPairs;
  int64_t min_views = 1;
  bool needs_labels = false;  // always; options may need them too and then the objective says so itself
  bool needs_bias = false;
  bool takes_bias_features = false;  // reads ObjectiveInput::weights
  bool needs_bias_features = false;
  bool takes_prior = false;  // reads ObjectiveInput::prior
  bool takes_keys = false;   // reads ObjectiveInput::keys
  std::vector<OptionSpec> options;
  // Reads options from a term of a recipe; keys in `others` (name, weight, on, ...) are the caller's.
  std::function<std::unique_ptr<Objective>(const Config& term, const std::vector<std::string>& others)> make;
};

const std::vector<ObjectiveEntry>& objective_registry();

// For scores that are products of rows of any norm: where a term says nothing, they are not divided (temperature 1), and an estimate falls to
// the least positive number (clamp positive).
void set_product_defaults(Config& term, const ObjectiveEntry& entry);

// Whether the fused engine computes the objective with its default options: tried on a few rows.
bool has_fused_engine(const ObjectiveEntry& entry);

}  // namespace debias
