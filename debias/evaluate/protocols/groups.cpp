#include "debias/evaluate/protocols/groups.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/name_table.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/row_mates.h"

namespace debias {
namespace {

double rate(int64_t part, int64_t whole) { return whole == 0 ? kNotKnown : static_cast<double>(part) / static_cast<double>(whole); }

std::vector<std::string> name_list(const std::vector<std::string>& names, int64_t count) {
  std::vector<std::string> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(value_name(names, i));
  return list;
}

BiasRates rates_of_bias(const PredictionCounts& counts, int64_t bias, const std::vector<std::string>& bias_names) {
  int64_t members = 0, right = 0;
  for (int64_t c = 0; c < counts.classes; ++c) {
    members += counts.count[c * counts.biases + bias];
    right += counts.correct[c * counts.biases + bias];
  }
  BiasRates rates;
  rates.bias = value_name(bias_names, bias);
  rates.count = members;
  rates.accuracy = rate(right, members);
  rates.error_rate = rate(members - right, members);
  for (int64_t c = 0; c < counts.classes; ++c) {
    const auto cell = static_cast<size_t>(c * counts.biases + bias);
    const int64_t positives = counts.count[cell], hits = counts.correct[cell], chosen = counts.predicted[cell];
    rates.selection_rate.push_back(rate(chosen, members));
    rates.true_positive_rate.push_back(rate(hits, positives));
    rates.false_positive_rate.push_back(rate(chosen - hits, members - positives));
    rates.false_negative_rate.push_back(rate(positives - hits, positives));
  }
  return rates;
}

}  // namespace

GroupTable group_table(const DatasetInfo& info, const PredictionCounts& counts) {
  GroupTable table{name_list(info.class_names, counts.classes), name_list(info.bias_names, counts.biases), {}, {}, {}};
  for (int64_t y = 0; y < counts.classes; ++y) {
    auto& count = table.count.emplace_back();
    auto& accuracy = table.accuracy.emplace_back();
    for (int64_t b = 0; b < counts.biases; ++b) {
      const auto cell = static_cast<size_t>(y * counts.biases + b);
      count.push_back(counts.count[cell]);
      accuracy.push_back(rate(counts.correct[cell], counts.count[cell]));
    }
  }
  for (int64_t b = 0; b < counts.biases; ++b) table.rates.push_back(rates_of_bias(counts, b, info.bias_names));
  return table;
}

namespace {

constexpr size_t kNamedCells = 5;  // of a note
constexpr int64_t kFewUnits = 20;  // below, percentiles of a cluster bootstrap are too narrow (Cameron, Gelbach and Miller 2008)
constexpr int64_t kExamplesOfSide = 4;

struct BiasedSplit {
  std::string name;
  std::shared_ptr<const Dataset> dataset;
  std::set<int64_t> classes, biases;  // that an image of training or of the split has
  GroupSamples samples;
  GroupMetricOptions options;
};

void add_values(const Dataset& dataset, BiasedSplit& split) {
  for (int64_t i = 0; i < dataset.size(); ++i) {
    split.classes.insert(dataset.label(i));
    split.biases.insert(dataset.bias(i));
  }
}

BiasedSplit read_split(const EvaluatedSplit& evaluated, const Dataset& train, int64_t classes, const AlignmentMap& alignment,
                       const GroupsOptions& options) {
  const Dataset& dataset = *evaluated.dataset;
  BiasedSplit split{evaluated.name, evaluated.dataset, {}, {}, {}, {alignment, options.min_count, options.empty}};
  add_values(train, split);
  add_values(dataset, split);
  const int64_t unknown = number_of_unknown_bias(dataset.info());
  if (unknown != kUnknown) {
    split.biases.insert(unknown);
    split.options.alignment.leave_out(unknown);
  }
  GroupSamples& samples = split.samples;
  samples.classes = classes;
  samples.units = GroupNumbers().of(dataset);
  samples.groups = static_cast<int64_t>(dataset.info().bias_names.size());
  for (int64_t i = 0; i < dataset.size(); ++i) {
    samples.labels.push_back(dataset.label(i));
    samples.biases.push_back(dataset.bias(i) == kUnknown ? unknown : dataset.bias(i));
    samples.groups = std::max(samples.groups, dataset.bias(i) + 1);
  }
  return split;
}

// "test: 2 of 4 groups have no members (1 x red, 0 x green): ..."; empty when all have. Classes and bias labels that no image has, such as
// class 0 where labels start at 1, make no groups.
std::string note_on_small_cells(const BiasedSplit& split, const GroupCounts& counts) {
  const DatasetInfo& info = split.dataset->info();
  std::string named;
  size_t small = 0, all = 0;
  for (size_t cell = 0; cell < counts.count.size(); ++cell) {
    const auto y = static_cast<int64_t>(cell) / counts.biases, b = static_cast<int64_t>(cell) % counts.biases;
    if (!split.classes.contains(y) || !split.biases.contains(b)) continue;
    ++all;
    if (counts.count[cell] >= split.options.min_count || ++small > kNamedCells) continue;
    named += fmt::format("{}{} x {}", named.empty() ? "" : ", ", value_name(info.class_names, y), value_name(info.bias_names, b));
  }
  if (small == 0) return "";
  const std::string lack = split.options.min_count == 1 ? "no members" : fmt::format("fewer than {} members", split.options.min_count);
  return fmt::format("groups: {}: {} of {} groups have {} ({}{}): left out of worst_group_acc and unbiased_acc", split.name, small, all,
                     lack, named, small > kNamedCells ? ", ..." : "");
}

// Of images whose bias label training lacks, or that have none; empty where there are none.
std::string note_on_unknown_biases(const BiasedSplit& split) {
  int64_t images = 0, right = 0;
  for (size_t i = 0; i < split.samples.labels.size(); ++i) {
    if (split.samples.labels[i] == kUnknown || split.dataset->bias(static_cast<int64_t>(i)) != kUnknown) continue;
    ++images;
    right += split.samples.labels[i] == split.samples.predictions[i] ? 1 : 0;
  }
  if (images == 0) return "";
  const std::string of = fmt::format("groups: {}: {} of {} {}", split.name, images, split.samples.labels.size(), split.dataset->what());
  const std::string accuracy = fmt::format("acc1 {:.4f}", static_cast<double>(right) / static_cast<double>(images));
  if (number_of_unknown_bias(split.dataset->info()) == kUnknown)
    return fmt::format("{} have no bias label ({}): they are in no group", of, accuracy);
  return fmt::format("{} have bias labels that training lacks, or none ({}): they are the groups '{}', neither aligned nor conflicting", of,
                     accuracy, kUnknownBias);
}

// "groups: test: intervals are over 60 groups (column patient) of 240 images"; empty where no images belong together.
std::string note_on_units(const BiasedSplit& split, const GroupsOptions& options) {
  const DatasetInfo& info = split.dataset->info();
  const int64_t units = group_count(split.samples.units);
  if (split.samples.units.empty() || options.bootstrap == 0 || units == std::ssize(split.samples.units)) return "";
  const std::string of = fmt::format("{} groups ({}) of {} {}", units, info.groups_from, split.samples.units.size(), split.dataset->what());
  if (units < 2)
    return fmt::format("groups: {}: no intervals: all {} belong together ({})", split.name, split.dataset->what(), info.groups_from);
  return fmt::format("groups: {}: intervals are over {}{}", split.name, of,
                     units < kFewUnits ? ", too few for reliable ones; treat them as lower bounds of the width" : "");
}

void add_split(const BiasedSplit& split, const GroupsOptions& options, EvaluationResult& result, std::vector<std::string>& undefined) {
  const PredictionCounts counts = count_groups(split.samples);
  for (const auto& [name, value] : group_metrics(counts, split.options)) {
    const std::string full = split.name + "." + name;
    if (std::isnan(value)) {
      undefined.push_back(full);
      result.notes.push_back(fmt::format("groups: {} is undefined: no groups to compute it from", full));
    } else {
      result.metrics[full] = value;
    }
  }
  const Bootstrap bootstrap{options.bootstrap, options.level, static_cast<uint64_t>(*options.seed)};
  for (const auto& [name, interval] : group_intervals(split.samples, split.options, bootstrap)) {
    if (result.metrics.contains(split.name + "." + name)) result.record.intervals[split.name + "." + name] = interval;
  }
  if (const std::string note = note_on_unknown_biases(split); !note.empty()) result.notes.push_back(note);
  if (const std::string note = note_on_units(split, options); !note.empty()) result.notes.push_back(note);
  if (const std::string note = note_on_small_cells(split, counts); !note.empty()) result.notes.push_back(note);
  result.record.groups[split.name] = group_table(split.dataset->info(), counts);
  result.record.classes[split.name] =
      class_table(split.samples.labels, split.samples.predictions, counts.classes, split.dataset->info().class_names);
  result.record.marks[split.name] = prediction_marks(*split.dataset, split.samples.predictions, split.options.alignment);
}

// Places of images of one side, of as many classes as there are. They depend on the data alone, so that runs show the same.
std::vector<int64_t> example_places(const BiasedSplit& split, Side side) {
  std::vector<int64_t> places;
  std::set<int64_t> shown;
  const std::vector<int64_t> order = permutation(split.dataset->size(), {.domain = RngDomain::kEvaluate, .seed = 0});
  for (const bool any_class : {false, true}) {
    for (const int64_t i : order) {
      if (std::ssize(places) == kExamplesOfSide) return places;
      const int64_t label = split.dataset->label(i);
      if (split.options.alignment.side(label, split.dataset->bias(i)) != side || std::ranges::find(places, i) != places.end()) continue;
      if (shown.insert(label).second || any_class) places.push_back(i);
    }
  }
  return places;
}

void add_examples(const BiasedSplit& split, EvaluationResult& result) {
  const DatasetInfo& info = split.dataset->info();
  for (const Side side : {Side::kAligned, Side::kConflicting}) {
    for (const int64_t i : example_places(split, side)) {
      const int64_t id = split.dataset->id(i);
      result.record.examples[split.name].push_back({id, side == Side::kAligned, value_name(info.class_names, split.dataset->label(i)),
                                                    value_name(info.bias_names, split.dataset->bias(i)),
                                                    value_name(info.class_names, split.samples.predictions[static_cast<size_t>(i)])});
      result.images[fmt::format("{}_{}", split.name, id)] = {split.dataset, i};
    }
  }
}

}  // namespace

void require_bias_values(const EvaluationInput& input, const std::string& who) {
  for (const auto& [name, dataset] : evaluated_splits(input)) {
    bool known = number_of_unknown_bias(dataset->info()) != kUnknown;
    for (int64_t i = 0; i < dataset->size() && !known; ++i) known = dataset->bias(i) != kUnknown;
    if (known) continue;
    throw usage_error(
        "{}: split '{}' of {} has no bias labels; give them by data.{}.labels: FILE.csv (path,label,bias), after training by debias eval "
        "groups RUN --labels FILE.csv, or of a feature table by --bias COLUMN",
        who, dataset->info().split, dataset->info().name, name);
  }
}

PredictionSource chosen_predictions(const EvaluationInput& input, PredictionSource asked, const std::string& who) {
  if (asked == PredictionSource::kAuto) return input.classifier ? PredictionSource::kClassifier : PredictionSource::kKnn;
  if (asked == PredictionSource::kClassifier && !input.classifier) {
    throw usage_error("{}: predictions: the run has no classifier; give knn or linear, or train with a `classifier`", who);
  }
  return asked;
}

std::vector<int64_t> predictions_of(const EvaluationInput& input, EvaluationCache& cache, PredictionSource source,
                                    const std::string& split) {
  if (source != PredictionSource::kClassifier) {
    return cache.evaluate(source == PredictionSource::kKnn ? "knn" : "linear_dcl").predictions.at(split);
  }
  return predicted_classes(input.classifier(cache.split(split).values));
}

std::vector<Metric> groups_metrics() {
  std::vector<Metric> metrics = {
      {"acc1", "accuracy", Unit::kShare, Better::kHigher, Standing::kAccuracy},
      {"worst_group_acc", "worst-group accuracy", Unit::kShare, Better::kHigher, Standing::kGroups},
      {"unbiased_acc", "unbiased accuracy, mean over groups", Unit::kShare, Better::kHigher, Standing::kGroups},
      {"demographic_parity_difference", "demographic parity difference", Unit::kShare, Better::kLower, Standing::kFairness},
      {"equal_opportunity_difference", "equal opportunity difference", Unit::kShare, Better::kLower, Standing::kFairness},
      {"equalized_odds_difference", "equalized odds difference", Unit::kShare, Better::kLower, Standing::kFairness}};
  for (auto& metric : metrics) metric.of_predictions = true;
  const std::vector<Metric> of_sides = side_metrics();
  metrics.insert(metrics.begin() + 1, of_sides.begin(), of_sides.end());
  return metrics;
}

EvaluationResult run_groups(const EvaluationInput& input, EvaluationCache& cache, const GroupsOptions& given, Progress&) {
  GroupsOptions options = given;
  options.seed = options.seed.value_or(static_cast<int64_t>(input.seed));
  options.predictions = chosen_predictions(input, options.predictions, "groups");
  const int64_t classes = count_classes(*input.train, "groups");
  const Alignment& alignment = cache.alignment(options.aligned);
  const std::vector<std::string> unsaid = cache.unsaid(alignment.notes);  // before kNN says them, whose result is not shown
  require_bias_values(input, "groups");
  std::vector<BiasedSplit> splits;
  for (const auto& evaluated : evaluated_splits(input)) {
    require_labels(*evaluated.dataset, classes, "groups");
    splits.push_back(read_split(evaluated, *input.train, classes, alignment.evaluated[splits.size()], options));
  }
  EvaluationResult result;
  std::vector<std::string> undefined;
  for (BiasedSplit& split : splits) {
    split.samples.predictions = predictions_of(input, cache, options.predictions, split.name);
    add_split(split, options, result, undefined);
    if (input.stored.empty() && &split == &splits.back()) add_examples(split, result);
    result.predictions[split.name] = std::move(split.samples.predictions);
  }
  EvaluationRecord record = describe("groups", input, result.metrics, config_of(options), classes);
  for (const auto& name : undefined) record.metrics.emplace_back(name, kNotKnown);
  record.predictions = enum_name(options.predictions);
  record.aligned = alignment;
  record.intervals = std::move(result.record.intervals);
  record.groups = std::move(result.record.groups);
  record.classes = std::move(result.record.classes);
  record.marks = std::move(result.record.marks);
  record.examples = std::move(result.record.examples);
  if (!result.notes.empty()) record.notes = result.notes;
  result.record = std::move(record);
  result.notes.insert(result.notes.begin(), unsaid.begin(), unsaid.end());
  return result;
}

}  // namespace debias
