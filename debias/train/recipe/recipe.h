// A recipe read and checked: everything a run needs, section by section, before anything is built.
//
// The resolved recipe (every default written out) goes to the run folder and is itself a valid recipe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/augment/chosen.h"
#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/data/chosen.h"
#include "debias/data/decode.h"
#include "debias/data/fingerprint.h"
#include "debias/data/name_table.h"
#include "debias/data/on_error.h"
#include "debias/encoders/chosen.h"
#include "debias/evaluate/chosen.h"
#include "debias/losses/objective.h"
#include "debias/optim/chosen.h"
#include "debias/optim/value_schedule.h"
#include "debias/runtime/precision.h"
#include "debias/train/recipe/chosen.h"
#include "debias/train/recipe/linked_samples.h"
#include "debias/train/recipe/option_source.h"

namespace debias {

// Forward pass: all views of a batch pass it at once (SupCon, USC) or one after the other (DCL, HCL, BCL, MDB). BatchNorm statistics
// differ between the two.
enum class Forward { kJoint, kPerView };
template <>
struct EnumNames<Forward> {
  static constexpr std::array<std::pair<std::string_view, Forward>, 2> values = {
      {{"joint", Forward::kJoint}, {"per_view", Forward::kPerView}}};
};

// Input of an objective term: the L2-normalised projection, the L2-normalised pooled output of the encoder, or the classifier's logits
// (as they are by the objectives on logits, else L2-normalised).
enum class TermInput { kProjection, kEncoder, kLogits };
template <>
struct EnumNames<TermInput> {
  static constexpr std::array<std::pair<std::string_view, TermInput>, 3> values = {
      {{"projection", TermInput::kProjection}, {"encoder", TermInput::kEncoder}, {"logits", TermInput::kLogits}}};
};

enum class ClassifierGradient { kStop, kFlow };
template <>
struct EnumNames<ClassifierGradient> {
  static constexpr std::array<std::pair<std::string_view, ClassifierGradient>, 2> values = {
      {{"stop", ClassifierGradient::kStop}, {"flow", ClassifierGradient::kFlow}}};
};

// A failed evaluation during training ends itself, or the run.
enum class EvaluationFailure { kContinue, kStop };
template <>
struct EnumNames<EvaluationFailure> {
  static constexpr std::array<std::pair<std::string_view, EvaluationFailure>, 2> values = {
      {{"continue", EvaluationFailure::kContinue}, {"stop", EvaluationFailure::kStop}}};
};

// A checkpoint without room on the disk ends the run, or waits for room.
enum class OnFullDisk { kStop, kWait };
template <>
struct EnumNames<OnFullDisk> {
  static constexpr std::array<std::pair<std::string_view, OnFullDisk>, 2> values = {
      {{"stop", OnFullDisk::kStop}, {"wait", OnFullDisk::kWait}}};
};

// With several processes: the anchors whose losses each computes.
enum class LossRows { kAll, kOwn };
template <>
struct EnumNames<LossRows> {
  static constexpr std::array<std::pair<std::string_view, LossRows>, 2> values = {{{"all", LossRows::kAll}, {"own", LossRows::kOwn}}};
};

// The part of `views:` that is not the pipeline.
class ViewsOptions {
 public:
  DEBIAS_OPTION(ViewsOptions, int64_t, count, 2)
  DEBIAS_OPTION(ViewsOptions, Forward, forward, Forward::kPerView)
  DEBIAS_OPTION(ViewsOptions, double, noise, 0.0)
  static const OptionTable<ViewsOptions>& table();
};

class TrainOptions {
 public:
  DEBIAS_OPTION(TrainOptions, int64_t, epochs, 100)
  DEBIAS_OPTION(TrainOptions, int64_t, batch_size, 256)
  DEBIAS_OPTION(TrainOptions, bool, drop_last, true)
  DEBIAS_OPTION(TrainOptions, Auto<int64_t>, micro_batch, {})
  DEBIAS_OPTION(TrainOptions, Precision, precision, Precision::kFp32)
  DEBIAS_OPTION(TrainOptions, Precision, loss_precision, Precision::kFp32)
  DEBIAS_OPTION(TrainOptions, std::string, device, "auto")
  DEBIAS_OPTION(TrainOptions, bool, tf32, false)
  DEBIAS_OPTION(TrainOptions, bool, deterministic, false)
  DEBIAS_OPTION(TrainOptions, Auto<int64_t>, threads, {})
  DEBIAS_OPTION(TrainOptions, Auto<int64_t>, workers, {})
  DEBIAS_OPTION(TrainOptions, int64_t, prefetch, 2)
  DEBIAS_OPTION(TrainOptions, bool, channels_last, true)
  DEBIAS_OPTION(TrainOptions, double, checkpoint_every, 0)
  DEBIAS_OPTION(TrainOptions, int64_t, log_every, 10)
  DEBIAS_OPTION(TrainOptions, OnFullDisk, on_full_disk, OnFullDisk::kStop)
  DEBIAS_OPTION(TrainOptions, bool, synchronise_norm, true)
  DEBIAS_OPTION(TrainOptions, LossRows, loss_rows, LossRows::kAll)
  DEBIAS_OPTION(TrainOptions, double, rank_timeout, 600)
  static const OptionTable<TrainOptions>& table();
  bool joins_norm() const { return synchronise_norm_ && !micro_batch_; }  // with parts of a batch each has statistics of its own
};

class EvaluateOptions {
 public:
  DEBIAS_OPTION(EvaluateOptions, int64_t, every, 1)
  DEBIAS_OPTION(EvaluateOptions, std::vector<std::string>, protocols, {})
  DEBIAS_OPTION(EvaluateOptions, std::string, select, "")
  DEBIAS_OPTION(EvaluateOptions, EvaluationFailure, on_error, EvaluationFailure::kContinue)
  DEBIAS_OPTION(EvaluateOptions, UnknownNames, unknown_classes, UnknownNames::kRefuse)
  static const OptionTable<EvaluateOptions>& table();
};

class TermOptions {
 public:
  DEBIAS_OPTION(TermOptions, double, weight, 1.0)
  DEBIAS_OPTION(TermOptions, TermInput, on, TermInput::kProjection)
  DEBIAS_OPTION(TermOptions, std::string, bias_features, "")
  static const OptionTable<TermOptions>& table();
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

// classifier.h says what they mean.
class ClassifierOptions {
 public:
  DEBIAS_OPTION(ClassifierOptions, ClassifierGradient, gradient, ClassifierGradient::kStop)
  DEBIAS_OPTION(ClassifierOptions, Auto<double>, learning_rate, {})
  DEBIAS_OPTION(ClassifierOptions, Auto<bool>, normalize, {})
  static const OptionTable<ClassifierOptions>& table();
};

struct Recipe {
  std::string name;
  uint64_t seed = 1;
  ChosenData train_data;
  std::optional<ChosenData> valid_data, test_data;
  OnError on_error = OnError::kStop;  // `data.on_error`: of the training images
  Decode decode = Decode::kExact;     // `data.decode`: of the training images
  std::optional<MustLink> must_link;  // `data.must_link`: training images that belong together
  Verify verify = Verify::kListing;   // `data.verify`: how a data set is known again
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
