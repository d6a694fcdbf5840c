// A recipe read and checked: everything a run needs, section by section, before anything is built.
//
// The resolved recipe (every default written out) goes to the run folder and is itself a valid recipe.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/augment/chosen.h"
#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/decode.h"
#include "debias/data/fingerprint.h"
#include "debias/data/name_table.h"
#include "debias/encoders/encoder.h"
#include "debias/evaluate/protocol.h"
#include "debias/losses/objective.h"
#include "debias/optim/optimizer.h"
#include "debias/optim/schedule.h"
#include "debias/runtime/device.h"
#include "debias/train/recipe/linked_samples.h"
#include "debias/train/recipe/option_source.h"

namespace debias {

// A recipe's choices from the training registries, with their options: read and checked once, then immutable.

class Sampler;
class SampleTable;
struct MethodEntry;

struct ChosenMethod {
  std::shared_ptr<const MethodEntry> entry = {};
  std::any options = {};                           // of the entry's type
  std::optional<ChosenEncoder> bias_encoder = {};  // of a biased network; none: the recipe's
  std::string where = {};                          // "recipe.yaml:12: " or empty, for messages
  bool is_written = true;                          // false: the recipe names none

  template <class Options>
  const Options& as() const {
    return std::any_cast<const Options&>(options);
  }
  Config section() const;  // with `name` and all options; reading it gives the same choice
};
ChosenMethod read_method(const Config& section);  // null section: the first method

// Draws the visits of an epoch.
enum class Draws {
  kOnceEach,     // every sample
  kIndependent,  // with replacement
  kRounds        // rounds of one sample per group
};

struct ChosenSampler {
  Config section;  // with `name` and all options; reading it gives the same choice
  Draws draws = Draws::kOnceEach;
  bool by_group = false;  // by group of class and bias label
  // Usage error for samples without labels or, by group, without bias labels. Data error for an unknown label or bias label.
  std::function<std::shared_ptr<const Sampler>(const SampleTable& samples)> make;
};
ChosenSampler read_sampler(const Config& section);  // null section: the first sampler

// Forward pass: all views of a batch pass it at once (SupCon, USC) or one after the other (DCL, HCL, BCL, MDB). BatchNorm statistics
// differ between the two.
enum class Forward { kJoint, kPerView };
constexpr auto enum_words(Forward) { return named("joint", "per_view"); }

// Input of an objective term: the L2-normalised projection, the L2-normalised pooled output of the encoder, or the classifier's logits
// (as they are by the objectives on logits, else L2-normalised).
enum class TermInput { kProjection, kEncoder, kLogits };
constexpr auto enum_words(TermInput) { return named("projection", "encoder", "logits"); }

enum class ClassifierGradient { kStop, kFlow };
constexpr auto enum_words(ClassifierGradient) { return named("stop", "flow"); }

// A failed evaluation during training ends itself, or the run.
enum class EvaluationFailure { kContinue, kStop };
constexpr auto enum_words(EvaluationFailure) { return named("continue", "stop"); }

// A checkpoint without room on the disk ends the run, or waits for room.
enum class OnFullDisk { kStop, kWait };
constexpr auto enum_words(OnFullDisk) { return named("stop", "wait"); }

// With several processes: the anchors whose losses each computes.
enum class LossRows { kAll, kOwn };
constexpr auto enum_words(LossRows) { return named("all", "own"); }

// The part of `views:` that is not the pipeline.
struct ViewsOptions {
  int64_t count = 2;
  Forward forward = Forward::kPerView;
  double noise = 0.0;
  void describe(OptionVisitor& o) {
    o("count", count, Range::closed(1, 64), "number of views of each image in a batch");
    o("forward", forward, "views through the network together or one by one (BatchNorm statistics differ)");
    o("noise", noise, Range::closed(0, 1), "share of second views taken from an image of another class");
  }
};

struct TrainOptions {
  int64_t epochs = 100;
  int64_t batch_size = 256;
  bool drop_last = true;
  Auto<int64_t> micro_batch = {};
  Precision precision = Precision::kFp32;
  Precision loss_precision = Precision::kFp32;
  std::string device = "auto";
  bool tf32 = false;
  bool deterministic = false;
  Auto<int64_t> threads = {};
  Auto<int64_t> workers = {};
  int64_t prefetch = 2;
  bool channels_last = true;
  double checkpoint_every = 0;
  int64_t log_every = 10;
  OnFullDisk on_full_disk = OnFullDisk::kStop;
  bool synchronise_norm = true;
  LossRows loss_rows = LossRows::kAll;
  double rank_timeout = 600;
  void describe(OptionVisitor& o);
  bool joins_norm() const { return synchronise_norm && !micro_batch; }  // with parts of a batch each has statistics of its own
};

struct EvaluateOptions {
  int64_t every = 1;
  std::vector<std::string> protocols = {};
  std::string select = "";
  EvaluationFailure on_error = EvaluationFailure::kContinue;
  UnknownNames unknown_classes = UnknownNames::kRefuse;
  void describe(OptionVisitor& o) {
    o("every", every, Range::closed(1, 1e6), "epochs between evaluations");
    o("protocols", protocols, "protocols to run, such as [knn]");
    o("select", select, "metric on valid whose best epoch is stored as `best`");
    o("on_error", on_error, "reaction to a failed evaluation: training continues or stops");
    o("unknown_classes", unknown_classes, "images of classes that are not in the training set: rejected or left out");
    o.check("select", [this](const std::string& what) {
      if (!select.empty() && !select.starts_with("valid.")) {
        throw usage_error("{}: select: '{}' is not a metric on valid; use valid.knn_acc1 or the like", what, select);
      }
    });
  }
};

struct TermOptions {
  double weight = 1.0;
  TermInput on = TermInput::kProjection;
  std::string bias_features = "";
  void describe(OptionVisitor& o) {
    o("weight", weight, Range::any(), "factor of the term in the sum");
    o("on", on, "input of the term");
    o("bias_features", bias_features, ".npy of a bias model's features, row = sample id");
  }
};

struct ScheduledOption {
  TermNumber number;
  std::shared_ptr<const ValueSchedule> schedule;
};

struct NumberInForce {
  const TermNumber* number;
  double value;
};

// Options of a term at an epoch.
struct TermInForce {
  TermOptions own;
  std::shared_ptr<const ObjectiveOptions> objective;
};

// A term of the objective, read and checked at every epoch of the run and at both ends of what its sources may give.
struct TermRecipe {
  const ObjectiveEntry* entry = nullptr;
  std::string where;                                  // "recipe.yaml:12: " or empty, for messages
  std::optional<std::string> variant;                 // as written
  TermOptions options;                                // those of epoch 0
  std::shared_ptr<const ObjectiveOptions> objective;  // those of epoch 0
  std::vector<ScheduledOption> schedules;
  std::vector<SourcedOption> sources;

  // Numbers that have a schedule, as it gives them at an epoch, from 0; then those that have a source: the estimate by option, and without
  // one the source's start.
  std::vector<NumberInForce> numbers_at(int64_t epoch, const std::map<std::string, double>& estimates = {}) const;
  TermInForce with(const std::vector<NumberInForce>& numbers) const;
  std::optional<double> temperature() const;  // none where the objective has none, or one that changes
  Config config() const;                      // every option written out, schedules as schedules
};

// model.h says what they mean.
struct ClassifierOptions {
  ClassifierGradient gradient = ClassifierGradient::kStop;
  Auto<double> learning_rate = {};
  Auto<bool> normalize = {};
  void describe(OptionVisitor& o) {
    o("learning_rate", learning_rate, Range::at_least(0),
      "learning rate of the classifier's own Adam; auto: 1e-3, or the recipe's optimizer with gradient: flow");
    o("gradient", gradient, "stop: a probe that does not train the encoder; flow: trains the encoder");
    o("normalize", normalize, "L2-normalise its input; auto: without a head");
  }
};

struct Recipe {
  std::string name;
  uint64_t seed = 1;
  ChosenData train_data;
  std::optional<ChosenData> valid_data, test_data;
  OnError on_error = OnError::kStop;         // `data.on_error`: of the training images
  Decode decode = Decode::kExact;            // `data.decode`: of the training images
  std::optional<MustLink> must_link;         // `data.must_link`: training images that belong together
  GroupMates groups = GroupMates::kExclude;  // `data.groups`
  Verify verify = Verify::kListing;          // `data.verify`: how a data set is known again
  ViewsOptions views;
  ChosenViews view_steps;  // with `views.eval`
  ChosenEncoder encoder;
  ChosenHead head;
  std::vector<TermRecipe> objective;
  ChosenMethod method;                          // a program may bring an entry of its own
  std::optional<ChosenSampler> sampler;         // none: every sample once an epoch
  std::optional<ClassifierOptions> classifier;  // with `auto` resolved where it is not the recipe's optimizer
  ChosenOptimizer optimizer;
  ChosenSchedule schedule;
  TrainOptions train;
  EvaluateOptions evaluate;
  ChosenProtocols protocol_options;  // `evaluate.knn: {...}`
  std::string output;
  Config expected;
};

// Describes what is computed in bfloat16 and what in float32.
std::string rounding(const TrainOptions& options);

// Throws usage errors that name file, line and key, several at once where there are several (error.h). Checks that depend on the
// data are left to training.
Recipe read_recipe(const Config& root);

}  // namespace debias
