#include "debias/runs/run_evaluation.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <string_view>

#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/recipe_keys.h"
#include "debias/core/registry.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/row_mates.h"
#include "debias/evaluate/table_input.h"
#include "debias/fix/fixed_folder.h"
#include "debias/fix/row_units.h"
#include "debias/runs/protocol_evaluation.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

using RecipeChanges = decltype(EvaluationRecord::recipe_changes);

std::vector<ChosenProtocol> chosen_protocols(const std::vector<RequestedProtocol>& requested) {
  std::vector<ChosenProtocol> chosen;
  for (const auto& [name, options] : requested) {
    chosen.push_back(read_protocol(find_entry(protocol_registry(), name, "protocol", "eval: "), options, name));
  }
  return chosen;
}

void require_protocols_for(const LoadedRun& run, const std::vector<ChosenProtocol>& protocols, bool has_labels, bool has_groups) {
  for (const ChosenProtocol& protocol : protocols) protocol_for(run.samples(), protocol.entry->name, "eval: ");
  if (run.samples() == SampleKind::kImages) return;
  if (has_groups) throw usage_error("eval: --group names groups of images, and '{}' reads sentences; leave it out", run.checkpoint);
  if (has_labels) throw usage_error("eval: --labels gives bias labels to images, and '{}' reads sentences; leave it out", run.checkpoint);
}

// The run's recipe with what it is evaluated by. Overrides of data sets say where the data lie, and change no evaluation.
Config evaluated_recipe(const Config& recipe, const EvaluationRequest& request, const std::vector<ChosenProtocol>& protocols) {
  Config evaluated = recipe;
  for (const auto& word : request.overrides) {
    if (!word.starts_with("data.")) evaluated.assign(word);
  }
  for (const ChosenProtocol& protocol : protocols) {
    if (protocol.section.entries().empty()) continue;
    evaluated.overlay(Config::map({{"evaluate", Config::map({{protocol.entry->name, protocol.section}})}}));
  }
  return evaluated;
}

RecipeChanges changes_between(const Config& recipe, const Config& evaluated) {
  RecipeChanges changes;
  for (const auto& [key, value] : flattened(evaluated)) changes[key] = value;
  for (const auto& [key, value] : flattened(recipe)) {
    const auto found = changes.find(key);
    if (found == changes.end()) {
      changes[key] = std::nullopt;
    } else if (found->second == value) {
      changes.erase(found);
    }
  }
  return changes;
}

// Of the options of protocols only its own and those of the one whose predictions it has evaluated.
RecipeChanges changes_of(const ChosenProtocol& protocol, const EvaluationRecord& record, RecipeChanges changes) {
  constexpr std::string_view kEvaluate = "evaluate.";
  std::erase_if(changes, [&](const auto& change) {
    const size_t dot = change.first.find('.', kEvaluate.size());
    if (!change.first.starts_with(kEvaluate) || dot == std::string::npos) return false;
    const std::string name = change.first.substr(kEvaluate.size(), dot - kEvaluate.size());
    return name != protocol.entry->name && name != protocol.name && !record.evaluates_predictions_of(name);
  });
  return changes;
}

// The recipe's options with the requested ones laid over them; `protocols` then have them all.
ChosenProtocols merged_options(const Recipe& recipe, std::vector<ChosenProtocol>& protocols) {
  ChosenProtocols all = recipe.protocol_options;
  for (ChosenProtocol& protocol : protocols) {
    protocol = protocol.over(all.of(protocol.name));
    all.written.push_back(protocol);
  }
  return all;
}

void require_added(const std::string& file, const EvaluationInput& input, const DataWatch& watch) {
  const std::optional<AddedBiasValues> with_values = watch.added_bias_values();
  if (!with_values) return;
  const AddedBiasValues& added = *with_values;
  for (const auto& [name, dataset] : evaluated_splits(input)) {
    const auto unknown = added.unknown.find(name);
    if (unknown == added.unknown.end() || unknown->second < dataset->size() || dataset->size() == 0) continue;
    throw data_error(
        "eval: --labels {}: no row gives a bias label to an image of {}, whose first is {}; name images by their path below the data "
        "folder",
        file, name, dataset->source(0));
  }
}

EvaluatedGroups groups_of(const EvaluationInput& input) {
  EvaluatedGroups found;
  if (input.sentences) return found;
  GroupNumbers numbers;
  std::set<int64_t> known;
  for (const auto& [name, dataset] : evaluated_splits(input)) {
    const std::vector<int64_t> groups = numbers.of(*dataset);
    found.rows += dataset->size();
    found.groups += groups.empty() ? dataset->size() : std::ranges::count(groups, kUnknown);
    known.insert(groups.begin(), groups.end());
    if (!groups.empty()) found.from = dataset->info().groups_from;
  }
  known.erase(kUnknown);
  found.groups += std::ssize(known);
  return found;
}

// A note for each of valid and test with rows whose class no training row has: no classifier can be right about them.
std::vector<std::string> notes_on_absent_classes(const EvaluationInput& input) {
  std::vector<std::string> notes;
  if (input.sentences || input.leaves_one_out || !input.train) return notes;
  std::set<int64_t> trained = {kUnknown};
  for (int64_t i = 0; i < input.train->size(); ++i) trained.insert(input.train->label(i));
  for (const auto& [name, dataset] : evaluated_splits(input)) {
    int64_t count = 0, first = kUnknown;
    for (int64_t i = 0; i < dataset->size(); ++i) {
      if (trained.contains(dataset->label(i))) continue;
      if (count++ == 0) first = dataset->label(i);
    }
    const auto& classes = dataset->info().class_names;
    if (count == 0) continue;
    notes.push_back(fmt::format("{} of {} {} of {} are of classes without training {}, such as '{}': no classifier can be right about them",
                                count, dataset->size(), dataset->what(), name, dataset->what(),
                                first < std::ssize(classes) ? classes[static_cast<size_t>(first)] : std::to_string(first)));
  }
  return notes;
}

// Evaluations lie in the run folder, and so may labels.
void require_outputs(const LoadedRun& run, const EvaluationFiles& files, const std::vector<ChosenProtocol>& protocols,
                     const EvaluatedData& data, const std::string& labels) {
  refuse_run_inside_data(run.folder, roots_of(data));
  for (const ChosenProtocol& protocol : protocols) {
    const std::string path = files.path(protocol.entry->name);
    for (const auto& [split, set] : data.sets()) {
      refuse_overwriting("eval", {path + ".json", path + ".csv"}, files_named_in(set->section));
    }
    if (!labels.empty()) refuse_overwriting("eval", {path + ".json", path + ".csv"}, {labels});
  }
}

}  // namespace

NamedMetrics RunEvaluation::metrics() const {
  NamedMetrics all;
  for (const auto& [name, result] : results) append_metrics(result, all);
  return all;
}

RunEvaluation evaluate_run(const EvaluationRequest& request, Progress& progress, Log& log) {
  std::vector<ChosenProtocol> protocols = chosen_protocols(request.protocols);
  const c10::Device device = resolve_device(request.device);
  LoadedRun run = load_run(request.run, request.which);
  require_protocols_for(run, protocols, request.labels.has_value(), !request.groups.empty());
  const RecipeChanges changes = changes_between(run.recipe, evaluated_recipe(run.recipe, request, protocols));
  for (const auto& word : request.overrides) run.recipe.assign(word);
  const EvaluatedData data = evaluated_data(run, request.data);
  const bool has_folder = !run.folder.empty();
  if (request.predictions && !has_folder) {
    throw usage_error("eval: --predictions writes into a run folder, and '{}' is in none", run.checkpoint);
  }
  const EvaluationFiles files(run.folder, request.data.name);
  const std::string labels = request.labels ? request.labels->file : "";
  if (has_folder) require_outputs(run, files, protocols, data, labels);
  const Recipe recipe = read_recipe(run.recipe);
  DataWatch watch(recipe.verify, progress, log);
  if (request.labels) {
    LabelColumns columns = *request.labels;
    if (!request.groups.empty()) columns.group = request.groups;
    watch.add_biases(AddedBiases(columns));
  }
  watch.add_groups(request.groups);
  EvaluationInput input = open_for_evaluation(run, data, watch, log);
  std::vector<std::string> accepted;
  if (request.data.name.empty()) accepted = require_unchanged(run, watch, request.overrides, request.data_change, log);
  if (request.labels) require_added(labels, input, watch);
  for (const auto& note : watch.notes()) log.warn("eval: " + note);
  run.encoder->to(device);
  if (!input.sentences) input.copies = copies_beside(*run.encoder, [&] { return load_run(request.run, request.which).encoder; });
  EvaluationCache cache(input, progress, merged_options(recipe, protocols));
  RunEvaluation evaluation{run.checkpoint, run.epoch, {}, groups_of(input), notes_on_absent_classes(input)};
  for (const auto& note : evaluation.notes) log.warn("eval: " + note);
  for (const ChosenProtocol& protocol : protocols) {
    const std::string& name = protocol.entry->name;
    EvaluationResult result = cache.evaluate(protocol);
    result.record = with_evaluated(result.record, run.checkpoint, run.epoch, data);
    result.record.accepted_changes = accepted;
    result.record.bias_values = watch.added_bias_values();
    result.record.recipe_changes = changes_of(protocol, result.record, changes);
    for (const auto& note : result.notes) log.warn(note);
    if (has_folder) files.write(EvaluationFiles::name_of(name, result), result, result.record, Thumbnails::kReplace);
    if (request.predictions && !write_predictions(files.path(name) + ".csv", result, input, *request.predictions)) {
      log.warn(fmt::format("eval: {} makes no predictions, so there is no {}.csv", name, files.path(name)));
    }
    evaluation.results.emplace_back(name, std::move(result));
  }
  return evaluation;
}

namespace {

constexpr uint64_t kTableSeed = 1;

void require_unseen_rows(const EvaluationInput& input, const std::vector<std::string>& protocols, const FeatureTable& table) {
  const std::set<std::string> without = {"knn", "groups", "geometry", "tsne", "retrieval"};
  for (const auto& name : protocols) {
    if (!input.leaves_one_out || without.contains(name)) continue;
    throw usage_error("eval: {} fits a classifier, and {} has training rows alone; add valid or test rows (column split)", name,
                      table.rows.path);
  }
}

void require_unchanged(const std::vector<std::string>& changes, DataChange change, Log& log) {
  if (!changes.empty() && change == DataChange::kRefuse) {
    throw data_error("{}; restore it, run debias fix again, or continue with --accept-data-change", fmt::join(changes, "; "));
  }
  for (const auto& line : changes) log.warn(line + ", which is accepted");
}

EvaluatedTable evaluated(const FeatureTable& table, const EvaluationInput& input, const std::vector<std::string>& protocols,
                         const ChosenProtocols& options, Progress& progress, Log& log) {
  require_unseen_rows(input, protocols, table);
  for (const auto& remark : table.remarks) log.info(remark);
  EvaluationCache cache(input, progress, options);
  EvaluatedTable found{table.vectors.path(), table.rows.path, {}, groups_of(input), notes_on_absent_classes(input)};
  if (table.rows.groups.empty()) {
    std::vector<int64_t> all(table.rows.labels.size());
    std::iota(all.begin(), all.end(), int64_t{0});
    for (const LikelyGroup& likely : likely_groups(table.rows, all)) {
      found.notes.push_back(fmt::format("{}: rows of one value are not independent; if it names what belongs together, add --group {}",
                                        likely.text, likely.column));
    }
  }
  std::ranges::move(notes_on_shared_copies(table, column_groups(table.rows)), std::back_inserter(found.notes));
  for (const auto& note : found.notes) log.warn("eval: " + note);
  for (const auto& name : protocols) found.results.emplace_back(name, cache.evaluate(name));
  return found;
}

}  // namespace

EvaluatedTable evaluate_table(const FeatureTableFiles& files, const TableRowOptions& columns, const std::vector<std::string>& protocols,
                              const ChosenProtocols& options, Progress& progress, Log& log) {
  const FeatureTable table = open_feature_table(files, columns);
  return evaluated(table, table_input(table, kTableSeed), protocols, options, progress, log);
}

EvaluatedTable evaluate_fixed_folder(const std::string& folder, const std::vector<std::string>& protocols, const ChosenProtocols& options,
                                     DataChange change, Progress& progress, Log& log) {
  const FixRecipe recipe = read_fix_recipe(folder);
  const FixedModel model = read_fixed(folder);
  const FeatureTable table = open_feature_table(recipe.files, recipe.columns);
  const GroupingColumns groups = grouping_columns(table.rows, table.of_split(TableSplit::kTrain));  // as fix has formed them
  EvaluationInput input = table_input(table, static_cast<uint64_t>(recipe.options.seed), joint_bias(table.rows, groups.used));
  if (input.stored.at("train").values.size(1) != model.layer.mean.size(0)) {
    throw data_error("{}: vectors of {} dimensions for a layer of {}; the table has changed since", table.vectors.path(),
                     table.vectors.dimensions(), model.layer.mean.size(0));
  }
  if (table.rows.classes != model.classes) {
    throw data_error("{}: its classes are not those of '{}'; the table has changed since", table.rows.path, folder);
  }
  require_unchanged(table_changes(folder, recipe, table), change, log);
  for (auto& [split, features] : input.stored) features.values = model.layer.apply(features.values);
  if (!input.leaves_one_out) {  // the head has seen the training rows
    input.classifier = [head = model.head](const at::Tensor& x) { return at::addmm(head.bias, x.to(at::kDouble), head.weight.t()); };
  }
  return evaluated(table, input, protocols, options, progress, log);
}

}  // namespace debias
