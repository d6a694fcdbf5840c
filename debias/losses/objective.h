// What an objective takes and returns, and the registry of objectives.
//
// Rows are the n = V*B embeddings, view-major: row v*B + i is view v of sample i. Every row carries integer keys (sample, label, bias);
// whether row j is the anchor itself, another view, a positive or a negative follows from comparing keys (pair_keys.h).
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

namespace debias {

// How an objective is computed: the plain composition in libtorch (dense) defines it, the tile engine (fused) never holds a matrix of
// pairs. auto: fused where there is an engine for the objective and its input (float32 or bfloat16 on the CPU), else dense.
enum class Engine { kAuto, kFused, kDense };

template <>
struct EnumNames<Engine> {
  static constexpr std::array<std::pair<std::string_view, Engine>, 3> values = {
      {{"auto", Engine::kAuto}, {"fused", Engine::kFused}, {"dense", Engine::kDense}}};
};

// What `engine` comes to for rows z: the tile engine takes float32 on the CPU (and bfloat16, which objectives read as float32).
inline bool takes_fused(Engine engine, const at::Tensor& z) {
  return engine != Engine::kDense && z.is_cpu() && (z.scalar_type() == at::kFloat || z.scalar_type() == at::kBFloat16);
}

inline constexpr int64_t kDefaultMemoryBudget = int64_t{256} << 20;

// The input of an objective. Undefined tensors are absent.
struct ObjectiveInput {
  at::Tensor z{};        // [B, V, D] floating point; rows of unit norm for the pairwise objectives. For logits objectives [B, C].
  at::Tensor labels{};   // int64 [B], -1 = unknown, matches nothing
  at::Tensor bias{};     // int64 [B]
  at::Tensor weights{};  // pair weights' features [B, F] (softcon, continuous fairkl)
  at::Tensor samples{};  // int64 [B] keys of "same sample"; absent: 0..B-1
  at::Tensor prior{};    // [C, G] P(y | b) (bias_balanced); absent: counted from the batch
  Engine engine = Engine::kAuto;
  int64_t memory_budget = kDefaultMemoryBudget;  // bytes that the fused engine may hold between forward and backward pass
  // The fused engine may round rows and weights to bfloat16 where it multiplies them, on a machine that gains by it; sums stay in float32.
  // Rows that come in bfloat16 allow it by that.
  bool bfloat16_products = false;
};

// A value with its evidence.
struct ObjectiveResult {
  at::Tensor value;       // 0-d, in the dtype of z (float32 for bfloat16)
  at::Tensor per_anchor;  // [anchors], view-major, detached; NaN for an anchor dropped from the mean
  int64_t anchors = 0;
  int64_t anchors_used = 0;
  int64_t clamped = 0;                 // anchors whose clamp, floor or fall-back acted (summed over view pairs)
  std::optional<double> min_estimate;  // the smallest estimate before it acted
  // Of importance weights w over an anchor's negatives: the mean over anchors of (sum w)^2 / sum w^2, in [1, N].
  std::optional<double> effective_sample_size;
  bool fused = false;  // computed by the tile engine
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
  bool fused = false;  // the tile engine can compute it
  std::vector<OptionSpec> options;
  // Reads options from a term of a recipe; keys in `others` (name, weight, on, ...) are the caller's.
  std::function<std::unique_ptr<Objective>(const Config& term, const std::vector<std::string>& others)> make;
};

const std::vector<ObjectiveEntry>& objective_registry();

}  // namespace debias
