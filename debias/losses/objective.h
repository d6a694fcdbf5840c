// Input and result of an objective, and the registry of objectives.
//
// Anchors are the n = V*B embeddings: row v*B + i is view v of sample i. Every row carries three integers: sample, label and bias label.
// Their comparison decides whether row j is the anchor itself, another view, a positive or a negative (comparison.h). Anchors are compared
// with each other or with separate keys: rows of a queue, a bank or a momentum encoder.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/losses/late_number.h"
#include "debias/pairs/rows.h"

namespace debias {

// The input of an objective. Undefined tensors are absent.
struct ObjectiveInput {
  at::Tensor z{};        // [B, V, D] floating point; rows of unit norm for the pairwise objectives. For logits objectives [B, C].
  at::Tensor labels{};   // int64 [B], -1 = unknown, matches nothing
  at::Tensor bias{};     // int64 [B]
  at::Tensor weights{};  // pair weights' features [B, F] (softcon, continuous fairkl)
  at::Tensor samples{};  // int64 [B] keys of "same sample"; absent: 0..B-1
  at::Tensor prior{};    // [C, G] P(y | b) (bias_balanced); absent: counted from the batch
  at::Tensor norms{};    // [B, C] |W_c| |x_i|: what each logit is at most (large_margin_softmax), with or without gradient

  // Keys to compare the anchors with, in place of the anchors (objectives that take keys). Then one view is enough, and samples may repeat.
  at::Tensor keys{};              // [m, D], with or without gradient
  at::Tensor key_samples{};       // int64 [m]; absent, or negative: of no sample of the batch
  at::Tensor key_labels{};        // int64 [m], -1 = unknown
  std::optional<int64_t> self{};  // key self + a is anchor a itself; none: no key is an anchor
  // [B, P, D]: the positives of each sample's anchors, the first of them in the numerator. Objectives without labels then leave keys of the
  // anchor's sample out; those over classes join them to the keys. Absent: keys of the anchor's sample are its positives.
  at::Tensor positives{};

  Engine engine = Engine::kAuto;
  std::shared_ptr<EngineRecord> engines{};       // engines of one evaluation; set by the objective
  int64_t memory_budget = kDefaultMemoryBudget;  // bytes that the fused engine may hold between forward and backward
  const RowShare* row_share = nullptr;           // this process's share of the sums over pairs, if ranks share them; outlives the graph
  // The fused engine may round rows and weights to bfloat16 for products, on processors that multiply it faster; sums stay in float32.
  // Rows in bfloat16 imply it.
  bool bfloat16_products = false;
  // The caller guarantees conditions whose check would make the host wait for a device: samples differ, labels are in range, and no row of
  // z, keys or positives has a norm above 1.
  bool vouched = false;
};

// A value with its diagnostics.
struct ObjectiveResult {
  at::Tensor value;       // 0-d, in the dtype of z (float32 for bfloat16)
  at::Tensor per_anchor;  // [anchors], view-major; part of the graph except for regularisers; NaN for a dropped anchor
  int64_t anchors = 0;
  LateNumber anchors_used;
  LateNumber clamped;                      // anchors whose clamp, floor or fall-back acted (summed over view pairs)
  int64_t clampable = 0;                   // total that `clamped` counts in, if not the anchors: sets of pairs, anchors of each view pair
  std::optional<LateNumber> min_estimate;  // the smallest estimate before it acted
  // For importance weights w over an anchor's negatives, the mean over anchors of (sum w)^2 / sum w^2, in [1, N].
  std::optional<LateNumber> effective_sample_size;
  std::string_view mode{};         // the mode that fairkl computed; empty for other objectives
  Engine engine = Engine::kDense;  // that computed it; of several, the one that held the most memory

  int64_t clamped_of() const { return clampable > 0 ? clampable : anchors; }
  bool fused() const { return engine == Engine::kFused; }
};

enum class InputKind { kPairs, kRegulariser, kLogits };

// Forms of scores that a method computes itself: draws from a bank for each anchor, with cross-entropy or noise-contrastive
// estimation, and neighbouring sentences.
enum class ScoreForm { kDraws, kNceDraws, kNeighbours };
struct Scores;

class Objective {
 public:
  virtual ~Objective() = default;
  virtual ObjectiveResult operator()(const ObjectiveInput& input) const = 0;
  virtual ObjectiveResult on_scores(const Scores& scores) const = 0;  // usage error: refusal() of their form
  // Why the objective with its options rejects such scores: one line that begins with its name; empty if it accepts them.
  virtual std::string refusal(ScoreForm form) const = 0;
  virtual Config config() const = 0;  // resolved options, without the name
};

// The loss of a batch with the options of a loss, checked first: usage error if one is out of range.
template <class Options>
ObjectiveResult checked_loss(const ObjectiveInput& input, const Options& options) {
  check_options(options, Options::kName);
  return options.loss(input);
}

// A number that replaces the value of an option: that of a schedule at an epoch, or an estimate.
struct OptionNumber {
  size_t option = 0;  // index in ObjectiveEntry::options
  double value = 0;
  std::string where;  // "recipe.yaml:12" or empty, for messages
};

// The options of an objective: read and checked once, then immutable. Makes the objective that has them.
class ObjectiveOptions {
 public:
  virtual ~ObjectiveOptions() = default;
  virtual std::unique_ptr<Objective> make() const = 0;
  // A copy of these options with all of `numbers` set, checked together. Usage error: a number out of range, or options that exclude each
  // other.
  virtual std::shared_ptr<const ObjectiveOptions> with(const std::vector<OptionNumber>& numbers) const = 0;
  virtual Config config() const = 0;                      // every option written out, without the name
  virtual std::optional<double> temperature() const = 0;  // none: the objective has no such option
  virtual bool drops_false_negatives() const = 0;         // if so, it needs labels
  virtual std::string caution() const = 0;                // a warning before a long run: one sentence, or empty
};

struct ObjectiveEntry {
  std::string name{};
  std::vector<std::string> aliases{};
  std::string summary{};  // one line: formula in words, paper and equation
  InputKind kind = InputKind::kPairs;
  int64_t min_views = 1;
  bool needs_labels = false;  // with any options; if only some need them, the objective reports the error itself
  bool needs_bias = false;
  bool takes_bias_features = false;  // reads ObjectiveInput::weights
  bool needs_bias_features = false;
  bool takes_prior = false;      // reads ObjectiveInput::prior
  bool takes_norms = false;      // reads ObjectiveInput::norms
  bool takes_keys = false;       // reads ObjectiveInput::keys
  bool joins_positives = false;  // to the keys, which must not contain them
  std::vector<ScoreForm> takes_scores{};
  std::vector<OptionSpec> options{};
  // Reads options from a term of a recipe; keys in `others` (name, weight, on, ...) are the caller's.
  std::function<std::shared_ptr<const ObjectiveOptions>(const Config& term, const std::vector<std::string>& others)> read{};

  std::unique_ptr<Objective> make(const Config& term, const std::vector<std::string>& others) const { return read(term, others)->make(); }
};

const std::vector<ObjectiveEntry>& objective_registry();

std::vector<std::string> objectives_on(ScoreForm form);  // names of the entries that accept it

// Objective::refusal() of an objective ("objective 'supcon'") whose entry does not accept the form.
std::string no_such_scores(const std::string& objective, ScoreForm form);

// Defaults for scores that are products of rows of any norm, for options that the term does not set: temperature 1 and clamp positive.
void set_product_defaults(Config& term, const ObjectiveEntry& entry);

// True if the fused engine supports the objective with its default options; evaluates it on a few rows.
bool has_fused_engine(const ObjectiveEntry& entry);

// Scores that a method has formed itself and passes to the recipe's objective (Objective::on_scores).
//
//   rows             anchors against each other, or against keys: ObjectiveInput (losses/objective.h). The objective forms these scores and
//                    need not hold all of them. Bilinear scores z^T W k are those of the rows W^T z against the keys k.
//   BankDraws        each anchor against rows of a memory bank that are drawn for this anchor alone
//   NeighbourScores  sentences of a text against each other; the sentences next to the anchor are its positives
//
// The objective divides by its temperature, computes the loss by its options, and takes the mean. ObjectiveEntry::takes_scores lists the
// forms that an objective accepts; Objective::refusal() explains which options a form excludes.

class BankNce;

struct BankDraws {
  at::Tensor anchors;      // [B, D]
  at::Tensor bank;         // [n, D], without gradient
  at::Tensor ids;          // int32 [B, 1 + K] on the CPU, rows of the bank: the positive of each anchor, then K negatives
  BankNce* nce = nullptr;  // loss that replaces the cross-entropy over the scores; its state is set by the first batch
};

enum class NeighbourNegatives { kNegatives, kOfficial };  // neighbours.h

struct NeighbourScores {
  at::Tensor products;                            // [B, B] products of sentence i's f and sentence j's g, in the order of the text
  int64_t context = 1;                            // number of positives on either side, at least 1
  std::optional<NeighbourNegatives> negatives{};  // none: as in the objective's paper
};

// Why options that need labels are rejected for scores.
inline constexpr const char* kDropsWithoutLabels = "drop_false_negatives: scores have no labels; leave it out";

struct Scores {
  // The losses of several banks are added.
  std::variant<std::vector<BankDraws>, NeighbourScores> of;

  ScoreForm form() const;
};

}  // namespace debias
