#include "debias/runs/bias_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/data/folder_layout.h"
#include "debias/data/name_table.h"
#include "debias/data/readers/image_folder.h"
#include "debias/evaluate/clusters.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/features.h"
#include "debias/report/sections/missing_parts.h"
#include "debias/runs/run_embedding.h"
#include "debias/runtime/device.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

constexpr const char* kWho = "embed: --bias-values";

struct EmbeddedSet {
  std::shared_ptr<const Dataset> dataset;
  Features features;
  at::Tensor rows;  // normalised
};

struct PseudoValues {
  std::vector<std::string> names;                  // by cluster
  std::vector<int64_t> images;                     // training images by cluster
  double aligned = 0;                              // share of the training images that have the most frequent value of their class
  std::vector<std::vector<NearestCentre>> of_set;  // a row for each row of the features
};

void check_output(const BiasValueRequest& request, const LoadedRun& run, const EvaluatedData& data) {
  if (!request.out.ends_with(".csv")) {
    throw usage_error("{} {}: it writes a table; give a path that ends in .csv", kWho, request.out);
  }
  refuse_inside_data(request.out, roots_of(data));
  std::vector<std::string> inputs = run_files(run);
  for (const auto& [split, set] : data.sets()) {
    const std::vector<std::string> files = files_named_in(set->section);
    inputs.insert(inputs.end(), files.begin(), files.end());
  }
  refuse_overwriting("embed", {request.out}, inputs);
}

EvaluatedData own_data(const LoadedRun& run, const BiasValueRequest& request) {
  if (run.folder.empty()) {
    throw usage_error("{}: checkpoint '{}' is in no run folder, so its data are not known; give the run folder", kWho, run.checkpoint);
  }
  return data_of(read_recipe(run.recipe)).below(request.root);
}

// Sets of the folder that the recipe does not read: init wants a row for each picture of its test folder, and for those held out.
std::vector<std::pair<std::string, ChosenData>> other_sets(const EvaluatedData& data) {
  std::vector<std::pair<std::string, ChosenData>> others;
  const auto* own = data.train.as<ImageFolderOptions>();
  if (own == nullptr || own->root.empty() || own->split != ImageFolderOptions{}.split) return others;
  const auto add = [&](const std::string& split, int64_t hold_out) {
    const bool is_read = std::ranges::any_of(data.sets(), [&](const auto& set) {
      const auto* options = set.second->template as<ImageFolderOptions>();
      return options != nullptr && options->split == split && options->root == own->root;
    });
    if (split.empty() || is_read) return;
    others.emplace_back(split, data.train.with(Config::map({{"split", Config::string(split)}, {"hold_out", Config::integer(hold_out)}})));
  };
  const FolderLayout layout = find_layout(own->root);
  for (const std::string& split : {layout.test, layout.valid}) add(split, 0);
  if (own->hold_out.count != 0) add("held_out", own->hold_out.count);
  return others;
}

std::vector<EmbeddedSet> embedded_sets(const LoadedRun& run, const BiasValueRequest& request, const EvaluatedData& data, Progress& progress,
                                       Log& log) {
  const Recipe recipe = read_recipe(run.recipe);
  DataWatch watch(recipe.verify, progress, log);
  std::vector<EmbeddedSet> sets;
  for (const auto& [split, set] : data.sets()) sets.push_back({watch.open(split, *set), {}, {}});
  require_unchanged(run, watch, {}, request.data_change, log);
  for (const auto& [split, set] : other_sets(data)) sets.push_back({watch.open(split, set), {}, {}});
  const auto network = embedded_layer(run, request.layer);
  const c10::Device device = resolve_device(request.device);
  network->to(device);
  const EncoderCopies copies = copies_beside(*network, [&] { return embedded_layer(load_run(request.run, request.which), request.layer); });
  const ExtractOptions options{.workers = recipe.train.workers.value_or(1), .on_error = recipe.on_error};
  const ViewPipeline views = embedding_views(recipe, sets.front().dataset->info());
  for (EmbeddedSet& set : sets) {
    set.dataset = in_numbers_of(run, set.dataset, log);
    set.features = extract_features(*network, set.dataset, views, options, progress, copies);
    set.rows = unit_rows(set.features.values, set.features.labels, kWho);
  }
  return sets;
}

int64_t number_of_values(const BiasValueRequest& request, const EmbeddedSet& train) {
  if (request.values) return *request.values;
  const std::set<int64_t> labels(train.features.labels.begin(), train.features.labels.end());
  const int64_t classes = std::ssize(labels) - static_cast<int64_t>(labels.contains(kUnknown));
  if (classes > 1) return classes;
  throw usage_error("{}: the training images have {} classes, so the number of bias labels is not known; give --values N", kWho, classes);
}

// Of the training images with a label.
double aligned_share(const std::vector<int64_t>& labels, const std::vector<int64_t>& values) {
  std::map<int64_t, std::map<int64_t, int64_t>> table;
  int64_t all = 0, aligned = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != kUnknown) ++table[labels[i]][values[i]];
  }
  for (const auto& [label, row] : table) {
    int64_t most = 0;
    for (const auto& [value, images] : row) {
      all += images;
      most = std::max(most, images);
    }
    aligned += most;
  }
  return all == 0 ? 0 : static_cast<double>(aligned) / static_cast<double>(all);
}

PseudoValues pseudo_values(const LoadedRun& run, const BiasValueRequest& request, const std::vector<EmbeddedSet>& sets) {
  const EmbeddedSet& train = sets.front();
  const int64_t K = number_of_values(request, train);
  const Clusters clusters = k_means(train.rows, K, run.seed, kWho);
  PseudoValues values;
  for (const EmbeddedSet& set : sets) values.of_set.push_back(nearest_centres(set.rows, clusters.centres));
  std::vector<int64_t> of_train;
  values.images.assign(static_cast<size_t>(K), 0);
  for (const NearestCentre& nearest : values.of_set.front()) {
    of_train.push_back(nearest.centre);
    ++values.images[static_cast<size_t>(nearest.centre)];
  }
  values.names = cluster_names(of_train, train.features.labels, train.dataset->info().class_names, K);
  values.aligned = aligned_share(train.features.labels, of_train);
  return values;
}

struct EmbeddedTable {
  std::string text = "path,label,bias,confidence\n";
  int64_t rows = 0;
};

// A row for each image, in the order of its set; an image of two sets once.
EmbeddedTable table_of(const std::vector<EmbeddedSet>& sets, const PseudoValues& values) {
  EmbeddedTable table;
  std::set<std::string> written;
  for (size_t s = 0; s < sets.size(); ++s) {
    const Dataset& dataset = *sets[s].dataset;
    std::map<int64_t, const NearestCentre*> nearest_of;
    for (size_t row = 0; row < values.of_set[s].size(); ++row) nearest_of[sets[s].features.indices[row]] = &values.of_set[s][row];
    for (int64_t i = 0; i < dataset.size(); ++i) {
      const std::string path = dataset.source(i);
      if (!written.insert(path).second) continue;
      const int64_t label = dataset.label(i);
      const auto nearest = nearest_of.find(i);
      const std::string found =
          nearest == nearest_of.end()
              ? ","
              : fmt::format("{},{:.4f}", csv_field(values.names[static_cast<size_t>(nearest->second->centre)], CsvCells::kRaw),
                            nearest->second->clarity);
      table.text += fmt::format("{},{},{}\n", csv_field(path, CsvCells::kRaw),
                                label == kUnknown ? "" : csv_field(value_name(dataset.info().class_names, label), CsvCells::kRaw), found);
      ++table.rows;
    }
  }
  return table;
}

std::vector<std::string> next_commands(const BiasValueTable& table, const std::string& out) {
  if (table.folder.empty()) return {};
  return {fmt::format("debias init {} --labels {}", shell_word(table.folder), shell_word(out))};
}

std::string root_of_images(const EvaluatedData& data) { return data.train.as<ImageFolderOptions>() == nullptr ? "" : data.train.root; }

}  // namespace

BiasValueTable write_bias_values(const BiasValueRequest& request, Progress& progress, Log& log) {
  const LoadedRun run = load_run(request.run, request.which);
  require_image_run(run);
  const EvaluatedData data = own_data(run, request);
  check_output(request, run, data);
  const std::vector<EmbeddedSet> sets = embedded_sets(run, request, data, progress, log);
  PseudoValues values = pseudo_values(run, request, sets);
  const EmbeddedTable table = table_of(sets, values);
  write_file_atomically(request.out, table.text);
  return {table.rows, std::move(values.names), std::move(values.images), values.aligned, root_of_images(data)};
}

nlohmann::ordered_json to_json(const BiasValueTable& table, const std::string& out) {
  return {{"file", out},
          {"rows", table.rows},
          {"values", table.names},
          {"images", table.images},
          {"aligned_share", table.aligned},
          {"next", next_commands(table, out)}};
}

std::string bias_values_text(const BiasValueTable& table, const std::string& out) {
  std::string text = fmt::format("{}: {} rows, {} bias labels\n", out, table.rows, table.names.size());
  for (size_t i = 0; i < table.names.size(); ++i) text += fmt::format("  {:<24} {:>7} training images\n", table.names[i], table.images[i]);
  text += fmt::format("{:.1f} % of the training images have the most frequent bias label of their class\n", 100 * table.aligned);
  for (const auto& command : next_commands(table, out)) text += fmt::format("next: {}\n", command);
  return text;
}

}  // namespace debias
