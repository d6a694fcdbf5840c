#include "debias/evaluate/protocols/low_shot.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/near_copies.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/protocols/logistic_regression.h"
#include "debias/evaluate/row_mates.h"
#include "debias/results/statistics.h"

namespace debias {
namespace {

constexpr const char* kLowShotName = "low_shot";
constexpr uint16_t kDrawStep = 12;  // its own stream among those of evaluation

void require_settings(const LowShotOptions& options, const std::string& what) {
  const std::vector<LowShotSetting> settings = low_shot_settings(options);
  if (settings.empty()) throw usage_error("{}: neither shares nor per_class has a number; write e.g. shares: [0.01, 0.1]", what);
  for (auto setting = settings.begin(); setting != settings.end(); ++setting) {
    if (std::find_if(settings.begin(), setting, [&](const auto& other) { return other.name == setting->name; }) == setting) continue;
    throw usage_error("{}: {}: {:g} is given twice; give it once", what, setting->share > 0 ? "shares" : "per_class",
                      setting->share > 0 ? setting->share : static_cast<double>(setting->per_class));
  }
}

std::map<int64_t, std::vector<int64_t>> rows_by_class(const std::vector<int64_t>& labels) {
  std::map<int64_t, std::vector<int64_t>> rows;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != kUnknown) rows[labels[i]].push_back(static_cast<int64_t>(i));
  }
  return rows;
}

// Images of one group or of one source are drawn together.
std::vector<int64_t> groups_of_draws(const EvaluationInput& input, const std::vector<int64_t>& images, std::vector<std::string>& notes) {
  std::vector<int64_t> groups = GroupNumbers().of(*input.train, images);
  if (!groups.empty() || input.encoder == nullptr || input.train->info().name != "image_folder") return groups;
  const NearCopies copies = find_near_copies(*input.train);
  if (copies.sources == 0) return groups;
  notes.push_back(
      fmt::format("{}: {} images are {} sources: copies are drawn together", kLowShotName, input.train->size(), copies.sources));
  for (const int64_t image : images) groups.push_back(copies.source_of_image[static_cast<size_t>(image)]);
  return groups;
}

// Places in `rows` of what is drawn together: a group, or a row alone.
std::vector<std::vector<size_t>> units_of(const std::vector<int64_t>& rows, const std::vector<int64_t>& groups) {
  std::vector<int64_t> own(rows.size(), kUnknown);
  for (size_t i = 0; i < rows.size() && !groups.empty(); ++i) own[i] = groups[static_cast<size_t>(rows[i])];
  return rows_of_groups(own);
}

void require_images(const std::vector<int64_t>& labels, const LowShotOptions& options, const Dataset& train) {
  if (options.per_class.empty()) return;
  const int64_t most = std::ranges::max(options.per_class);
  for (const auto& [label, rows] : rows_by_class(labels)) {
    if (std::ssize(rows) >= most) continue;
    throw data_error("{}: per_class: {} images of each class, but class {} of {} has {}; lower per_class", kLowShotName, most,
                     class_text(train, label), split_text(train), rows.size());
  }
}

std::vector<int64_t> training_labels(const Dataset& train) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < train.size(); ++i) labels.push_back(train.label(i));
  return labels;
}

int64_t checked_classes(const EvaluationInput& input) {
  if (input.leaves_one_out) {
    throw usage_error("{}: the table has training rows alone; add valid or test rows (column split)", kLowShotName);
  }
  const int64_t classes = count_classes(*input.train, kLowShotName);
  for (const auto& evaluated : evaluated_splits(input)) require_labels(*evaluated.dataset, classes, kLowShotName);
  return classes;
}

// The classifier of one draw, over the classes that have training images.
class DrawnProbe {
 public:
  DrawnProbe(const Features& train, const std::vector<int64_t>& rows, int64_t classes, const LogisticOptions& options, Progress& progress)
      : classes_(classes) {
    std::map<int64_t, int64_t> place;
    for (const int64_t row : rows) place.emplace(train.labels[static_cast<size_t>(row)], 0);
    for (auto& [label, at] : place) {
      at = std::ssize(present_);
      present_.push_back(label);
    }
    std::vector<int64_t> targets;
    for (const int64_t row : rows) targets.push_back(place.at(train.labels[static_cast<size_t>(row)]));
    const at::Tensor x = train.values.index_select(0, at::tensor(rows, at::kLong));
    fit_ = fit_logistic_regression(x, targets, std::ssize(present_), options, progress);
  }

  std::vector<int64_t> ranks(const Features& evaluated) const {
    const at::Tensor scores =
        at::full({evaluated.values.size(0), classes_}, -std::numeric_limits<double>::infinity(), at::TensorOptions(at::kDouble));
    scores.index_copy_(1, at::tensor(present_, at::kLong), fit_.logits(evaluated.values));
    std::vector<int64_t> ranks = label_ranks(scores, evaluated.labels);
    for (size_t i = 0; i < ranks.size(); ++i) {
      const int64_t label = evaluated.labels[i];
      if (label != kUnknown && !std::ranges::binary_search(present_, label))
        ranks[i] = std::numeric_limits<int64_t>::max();  // it is never predicted
    }
    return ranks;
  }
  bool converged() const { return fit_.converged; }

 private:
  int64_t classes_;
  std::vector<int64_t> present_;  // labels, by place in the fit
  LogisticFit fit_;
};

// Mean and, from two values on, Student's interval of it within [0, 1].
void add_mean(const std::string& name, const std::vector<double>& values, double level, EvaluationResult& result,
              std::map<std::string, std::pair<double, double>>& intervals) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  result.metrics[name] = mean;
  if (values.size() < 2) return;
  const double half = student_t_quantile((1 + level) / 2, n - 1) * std::sqrt(squares / (n - 1) / n);
  intervals[name] = {std::max(mean - half, 0.0), std::min(mean + half, 1.0)};
}

void note_raised_classes(const LowShotSetting& setting, const std::vector<int64_t>& labels, std::vector<std::string>& notes) {
  int64_t raised = 0, classes = 0;
  for (const auto& [label, rows] : rows_by_class(labels)) {
    ++classes;
    raised += setting.share > 0 && setting.share * static_cast<double>(rows.size()) < 0.5;
  }
  if (raised == 0) return;
  notes.push_back(fmt::format("{}: {:g} % of a class is less than half an image in {} of {} classes; one image of each is drawn",
                              kLowShotName, 100 * setting.share, raised, classes));
}

}  // namespace

void LowShotOptions::describe(OptionVisitor& o) {
  o("shares", shares, Range::open_closed(0, 1), "labelled shares of each class; []: none");
  o("per_class", per_class, Range::closed(1, 1e6), "numbers of labelled images of each class");
  o("draws", draws, Range::closed(1, 1000), "random draws of labelled images; the metric is their mean");
  o("level", level, Range{0, 1, true, true}, "confidence level of the interval over the draws");
  o("l2", l2, Range::open_closed(0, 1e6), "L2 penalty of the logistic regression, 1 / C of scikit-learn");
  o("iterations", iterations, Range::closed(1, 1000000), "maximum number of L-BFGS iterations");
  o("seed", seed, Range::at_least(0), "seed of the draws; auto: the run's");
  o.check([this](const std::string& what) { require_settings(*this, what); });
}

int64_t LowShotSetting::count_of(int64_t class_size) const {
  if (share == 0) return per_class;
  return std::max<int64_t>(1, std::llround(share * static_cast<double>(class_size)));
}

std::vector<LowShotSetting> low_shot_settings(const LowShotOptions& options) {
  std::vector<LowShotSetting> settings;
  for (const double share : options.shares) settings.push_back({fmt::format("{:g}pct", 100 * share), share, 0});
  for (const int64_t count : options.per_class) settings.push_back({fmt::format("{}_per_class", count), 0, count});
  return settings;
}

std::vector<int64_t> low_shot_rows(const std::vector<int64_t>& labels, const LowShotSetting& setting, int64_t draw, uint64_t seed,
                                   const std::vector<int64_t>& groups) {
  std::vector<int64_t> drawn;
  for (const auto& [label, rows] : rows_by_class(labels)) {
    const std::vector<std::vector<size_t>> units = units_of(rows, groups);
    const std::vector<int64_t> order = permutation(std::ssize(units), {.domain = RngDomain::kEvaluate,
                                                                       .seed = seed,
                                                                       .epoch = static_cast<uint64_t>(draw),
                                                                       .sample = static_cast<uint64_t>(label),
                                                                       .step = kDrawStep});
    const int64_t wanted = setting.count_of(std::ssize(rows));
    int64_t taken = 0;
    for (const int64_t place : order) {
      const std::vector<size_t>& unit = units[static_cast<size_t>(place)];
      if (taken > 0 && 2 * (wanted - taken) <= std::ssize(unit)) continue;  // it would bring the number no nearer
      taken += std::ssize(unit);
      for (const size_t i : unit) drawn.push_back(rows[i]);
    }
  }
  std::ranges::sort(drawn);
  return drawn;
}

std::vector<Metric> low_shot_metrics() {
  return {{.name = "low_shot_acc1",
           .title = "low-shot accuracy, {}",
           .unit = Unit::kShare,
           .better = Better::kHigher,
           .standing = Standing::kProtocol,
           .of_setting = true},
          {.name = "low_shot_acc5",
           .title = "low-shot accuracy, top 5, {}",
           .unit = Unit::kShare,
           .better = Better::kHigher,
           .standing = Standing::kDetail,
           .of_setting = true}};
}

void check_low_shot_data(const EvaluationInput& input, const LowShotOptions& options) {
  checked_classes(input);
  require_images(training_labels(*input.train), options, *input.train);
}

EvaluationResult run_low_shot(const EvaluationInput& input, EvaluationCache& cache, const LowShotOptions& given, Progress& progress) {
  LowShotOptions options = given;
  options.seed = options.seed.value_or(static_cast<int64_t>(input.seed));
  const int64_t classes = checked_classes(input);
  const Features& train = cache.train();
  require_images(train.labels, options, *input.train);

  EvaluationResult result;
  const std::vector<int64_t> groups = groups_of_draws(input, train.indices, result.notes);
  const Standardisation scale = standardisation_of(train.values);
  std::map<std::string, std::vector<double>> by_draw;
  std::map<std::string, std::pair<double, double>> intervals;
  std::vector<std::pair<std::string, int64_t>> counts;
  int64_t unfinished = 0;
  for (const LowShotSetting& setting : low_shot_settings(options)) {
    note_raised_classes(setting, train.labels, result.notes);
    for (int64_t draw = 0; draw < options.draws; ++draw) {
      const std::vector<int64_t> rows = low_shot_rows(train.labels, setting, draw, static_cast<uint64_t>(*options.seed), groups);
      if (draw == 0) counts.emplace_back(setting.name, std::ssize(rows));
      const DrawnProbe probe(train, rows, classes, {.l2 = options.l2, .iterations = options.iterations, .scale = &scale}, progress);
      unfinished += !probe.converged();
      for (const auto& evaluated : evaluated_splits(input)) {
        const auto ranks = probe.ranks(cache.split(evaluated.name));
        by_draw[fmt::format("{}.low_shot_acc1_{}", evaluated.name, setting.name)].push_back(accuracy_within(ranks, 1));
        by_draw[fmt::format("{}.low_shot_acc5_{}", evaluated.name, setting.name)].push_back(accuracy_within(ranks, 5));
      }
    }
  }
  for (const auto& [name, values] : by_draw) add_mean(name, values, options.level, result, intervals);
  if (unfinished > 0) {
    result.notes.push_back(fmt::format("{}: {} of {} fits did not converge; raise {}.iterations", kLowShotName, unfinished,
                                       std::ssize(counts) * options.draws, kLowShotName));
  }
  result.record = describe(kLowShotName, input, result.metrics, config_of(options), classes);
  result.record.by_draw = std::move(by_draw);
  result.record.intervals = std::move(intervals);
  result.record.drawn = std::move(counts);
  if (!result.notes.empty()) result.record.notes = result.notes;
  return result;
}

}  // namespace debias
