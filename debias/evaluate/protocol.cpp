#include "debias/evaluate/protocol.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/registry.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/evaluate/protocols/groups.h"
#include "debias/evaluate/row_mates.h"

namespace debias {
namespace {

// Tells an unknown option by the recipe's section, and under the name that the section has there.
void require_known_options(const std::string& name, const Config& section, const ProtocolEntry& entry) {
  std::vector<std::string> known;
  for (const auto& spec : entry.options) known.push_back(spec.name);
  for (const auto& [key, value] : section.entries()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    throw usage_error("{}evaluate: {}: unknown option '{}'{}", value.prefix(), name, key, suggestion(key, known));
  }
}

}  // namespace

ChosenProtocol ChosenProtocol::over(const ChosenProtocol& base) const {
  Config all = base.section;
  all.overlay(section);
  return read_protocol(*entry, all, name);
}

ChosenProtocol read_protocol(const ProtocolEntry& entry, const Config& section, const std::string& name) {
  return {&entry, name.empty() ? entry.name : name, section, entry.read(section)};
}

ChosenProtocol ChosenProtocols::of(const std::string& name) const {
  const ProtocolEntry& entry = find_entry(protocol_registry(), name, "protocol");
  const auto found = std::find_if(written.rbegin(), written.rend(), [&](const auto& protocol) { return protocol.entry == &entry; });
  return found == written.rend() ? read_protocol(entry, Config::map()) : *found;
}

Config ChosenProtocols::section() const {
  Config sections = Config::map();
  for (const auto& protocol : written) sections.set(protocol.name, protocol.section);
  return sections;
}

ChosenProtocols read_protocols(SampleKind samples, const std::vector<std::string>& requested, const Config& sections) {
  for (const auto& name : requested) protocol_for(samples, name, "evaluate: ");
  ChosenProtocols protocols;
  for (const auto& [name, section] : sections.entries()) {
    const ProtocolEntry& entry = protocol_for(samples, name, section.prefix());
    require_known_options(name, section, entry);
    protocols.written.push_back(read_protocol(entry, section, name));
  }
  return protocols;
}

namespace {

constexpr std::array<const char*, 2> kOfSides = {"aligned_acc", "conflicting_acc"};  // kNN and groups have them
constexpr const char* kOnlyOfGroups = "acc1";                                        // of each split that it evaluates

// Protocols whose result depends on training rows of the evaluated rows' groups. Neighbours leave them out.
bool fits_training_rows(const EvaluationRecord& record) {
  const std::string& protocol = record.protocol;
  if (protocol == "groups") return record.predictions != "knn";
  return protocol != "knn" && protocol != "retrieval" && protocol != "tsne" && protocol != "geometry";
}

// One a split: "test: 120 of 400 images are of groups of training images (column patient): ...".
std::vector<std::string> notes_on_shared_groups(const EvaluationInput& input) {
  std::vector<std::string> notes;
  if (input.train == nullptr || input.leaves_one_out || input.train->info().group_names.empty()) return notes;
  GroupNumbers numbers;
  const std::vector<int64_t> of_train = numbers.of(*input.train);
  const std::set<int64_t> trained(of_train.begin(), of_train.end());
  std::set<int64_t> rows;  // of a table, whose ids are those of all its splits
  for (int64_t i = 0; i < input.train->size() && input.encoder == nullptr; ++i) rows.insert(input.train->id(i));
  for (const auto& [split, dataset] : evaluated_splits(input)) {
    if (dataset->size() > 0 && rows.contains(dataset->id(0)))
      continue;  // folds of the training rows, by heads that were not fitted to them
    const std::vector<int64_t> own = numbers.of(*dataset);
    const auto shared = std::ranges::count_if(own, [&](int64_t group) { return group != kUnknown && trained.contains(group); });
    if (shared == 0) continue;
    notes.push_back(fmt::format("{}: {} of {} {} are of groups of training {} ({}), which a classifier knows; hold out whole groups", split,
                                shared, dataset->size(), dataset->what(), dataset->what(), dataset->info().groups_from));
  }
  return notes;
}

// Those with a value, as the record has them.
std::vector<std::string> names_in_order(const EvaluationResult& result) {
  std::vector<std::string> names;
  for (const auto& [name, value] : result.record.metrics) {
    if (result.metrics.contains(name)) names.push_back(name);
  }
  for (const auto& [name, value] : result.metrics) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

const Features& EvaluationCache::of(const std::string& name, const std::shared_ptr<const Dataset>& dataset) {
  if (const auto found = features_.find(name); found != features_.end()) return found->second;
  if (dataset == nullptr) throw usage_error("evaluate: there is no {} set; give data.{}", name, name);
  if (input_.encoder == nullptr) return input_.stored.at(name);
  const OnError on_error = name == "train" ? input_.on_error : OnError::kStop;
  const ExtractOptions options{.workers = input_.workers, .precision = input_.precision, .on_error = on_error};
  Features features =
      extract_features(*input_.encoder, dataset, eval_views(input_.train_views, input_.train->info()), options, progress_, input_.copies);
  return features_.emplace(name, std::move(features)).first->second;
}

const Features& EvaluationCache::split(const std::string& name) { return name == "train" ? train() : name == "valid" ? valid() : test(); }

const EvaluationResult& EvaluationCache::evaluate(const ChosenProtocol& protocol) {
  const auto& entry = protocol_for(input_.samples(), protocol.entry->name);
  const std::string key = entry.name + " " + protocol.section.to_json().dump();
  if (const auto found = results_.find(key); found != results_.end()) return found->second;
  EvaluationResult result = entry.run(input_, *this, protocol.options, progress_);
  if (const auto train = features_.find("train"); train != features_.end() && train->second.unreadable > 0) {
    result.record.counts.front().second = std::ssize(train->second.indices);
    result.notes.push_back(fmt::format("{}: {} of {} training images cannot be read and are left out; debias data check names them",
                                       entry.name, train->second.unreadable, input_.train->size()));
  }
  if (fits_training_rows(result.record)) {
    std::vector<std::string> notes = notes_on_shared_groups(input_);
    if (!notes.empty()) {
      std::vector<std::string>& own = result.record.notes.emplace(result.record.notes.value_or(std::vector<std::string>()));
      own.insert(own.end(), notes.begin(), notes.end());
    }
    std::ranges::move(unsaid(notes), std::back_inserter(result.notes));
  }
  return results_.emplace(key, std::move(result)).first->second;
}

std::vector<EvaluatedSplit> evaluated_splits(const EvaluationInput& input) {
  std::vector<EvaluatedSplit> splits;
  if (input.valid != nullptr) splits.push_back({"valid", input.valid});
  if (input.test != nullptr) splits.push_back({"test", input.test});
  return splits;
}

const Alignment& EvaluationCache::alignment() { return alignment(protocols_.of("groups").as<GroupsOptions>().aligned); }

const Alignment& EvaluationCache::alignment(const AlignedChoice& choice) {
  for (const auto& [known, found] : alignments_) {
    if (known == choice) return found;
  }
  const auto splits = evaluated_splits(input_);
  std::vector<const Dataset*> evaluated;
  for (const auto& split : splits) evaluated.push_back(split.dataset.get());
  return alignments_.emplace_back(choice, decide_alignment(*input_.train, evaluated, choice)).second;
}

std::vector<std::string> EvaluationCache::unsaid(const std::vector<std::string>& notes) {
  std::vector<std::string> left;
  for (const auto& note : notes) {
    if (said_.insert(note).second) left.push_back(note);
  }
  return left;
}

EvaluationRecord describe(const std::string& protocol, const EvaluationInput& input, const std::map<std::string, double>& metrics,
                          const Config& resolved_options, int64_t classes) {
  EvaluationRecord record;
  record.protocol = protocol;
  record.metrics.assign(metrics.begin(), metrics.end());
  record.options = resolved_options.to_json();
  record.class_count = classes;
  record.counts.emplace_back("train", input.train->size());
  const auto add_groups = [&record](const std::string& split, const Dataset& dataset) {
    if (dataset.info().group_names.empty()) return;
    record.group_counts.emplace_back(split, group_count(GroupNumbers().of(dataset)));
    record.groups_from = dataset.info().groups_from;
  };
  add_groups("train", *input.train);
  for (const auto& evaluated : evaluated_splits(input)) {
    record.counts.emplace_back(evaluated.name, evaluated.dataset->size());
    add_groups(evaluated.name, *evaluated.dataset);
    if (record.groups_of(evaluated.name) > 0) record.group_of[evaluated.name] = GroupNumbers().of(*evaluated.dataset);
  }
  return record;
}

void describe_predictions(const std::string& whose, const EvaluationInput& input, int64_t classes, EvaluationResult& result) {
  result.record.predictions = whose;
  for (const auto& evaluated : evaluated_splits(input)) {
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < evaluated.dataset->size(); ++i) labels.push_back(evaluated.dataset->label(i));
    const std::vector<int64_t>& predictions = result.predictions.at(evaluated.name);
    result.record.classes[evaluated.name] = class_table(labels, predictions, classes, input.train->info().class_names);
    result.record.marks[evaluated.name] = prediction_marks(*evaluated.dataset, predictions);
  }
}

void append_metrics(const EvaluationResult& result, NamedMetrics& all) {
  const auto same = [&all](const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&](const auto& other) { return other.first == name; });
  };
  for (const std::string split : {"valid.", "test."}) {
    if (!result.metrics.contains(split + kOnlyOfGroups)) continue;
    for (const char* side : kOfSides) {
      if (const auto found = same(split + side); found != all.end()) all.erase(found);
    }
  }
  for (const auto& name : names_in_order(result)) {
    const double value = result.metrics.at(name);
    const std::string split = name.substr(0, name.find('.') + 1), own = name.substr(split.size());
    const bool of_side = std::find(kOfSides.begin(), kOfSides.end(), own) != kOfSides.end();
    if (of_side && !result.metrics.contains(split + kOnlyOfGroups) && same(split + kOnlyOfGroups) != all.end()) continue;
    if (same(name) == all.end()) all.emplace_back(name, value);
  }
}

}  // namespace debias
