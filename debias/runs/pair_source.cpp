#include "debias/runs/pair_source.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"
#include "debias/data/name_table.h"
#include "debias/data/readers/csv_table.h"
#include "debias/evaluate/protocols/chosen_images.h"
#include "debias/evaluate/table_input.h"
#include "debias/features/feature_table.h"
#include "debias/image/image_decode.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runs/prior_estimates.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoLabels = "none";  // in the place of a column's name
constexpr const char* kGroupColumn = "group";
constexpr double kTableLossTemperature = 0.07;  // usual of losses whose negatives are many (MoCo, CLIP)

PairSplit pair_split(const std::string& name, const std::shared_ptr<const Dataset>& dataset, const Features& features) {
  PairSplit split{features.values.contiguous(), {name, {}, features.labels, dataset->info().class_names}, {}};
  for (const int64_t index : features.indices) split.rows.names.push_back(dataset->source(index));
  split.image = [dataset, indices = features.indices](int64_t row) { return dataset->get(indices[static_cast<size_t>(row)]).image; };
  return split;
}

std::shared_ptr<const Dataset> dataset_of(const EvaluationInput& input, const std::string& split) {
  return split == "train" ? input.train : split == "valid" ? input.valid : input.test;
}

// The sections of the splits that are asked for; of a run's own data.
EvaluatedData sections_of(const LoadedRun& run, const Recipe& recipe, const SplitPair& splits, const std::string& root) {
  EvaluatedData data = data_of(recipe);
  for (const auto& [name, set] : {std::pair("valid", &data.valid), std::pair("test", &data.test)}) {
    if (splits.first != name && splits.second != name) {
      set->reset();
    } else if (!*set) {
      throw usage_error("pairs: run '{}' has no data.{}; its recipe names none", run.checkpoint, name);
    }
  }
  return data.below(root);
}

// Value of the first term whose tau_plus is a number.
double constant_prior(const Config& resolved_recipe, double otherwise) {
  const Config* objective = resolved_recipe.find("objective");
  if (objective == nullptr || !objective->is_sequence()) return otherwise;
  for (const Config& term : objective->items()) {
    const Config* value = term.find("tau_plus");
    if (value != nullptr && value->is_map()) value = value->find("value");  // of marks
    double tau;
    if (value != nullptr && value->is_scalar() && parse_number(value->text(), &tau) && tau > 0 && tau < 1) return tau;
  }
  return otherwise;
}

// The groups that the samples of the data sets are of, by name.
std::optional<RowGroups> sample_groups(const std::vector<std::pair<const Dataset*, const std::vector<int64_t>*>>& splits) {
  std::vector<std::string> names;
  bool any = false;
  for (const auto& [dataset, indices] : splits) {
    for (const int64_t index : *indices) {
      const int64_t group = dataset->group(index);
      names.push_back(group == kUnknown ? "" : value_name(dataset->info().group_names, group));
      any = any || group != kUnknown;
    }
  }
  if (!any) return std::nullopt;
  RowGroups groups = groups_of_values({names});
  groups.from = splits.front().first->info().groups_from;
  return groups;
}

// A table whose rows have the names and splits of the CSV, if there is one, and no labels.
FeatureTable unlabelled_table(FeatureVectors vectors, const std::string& csv, const std::vector<std::string>& group) {
  const auto n = static_cast<size_t>(vectors.rows());
  TableRows rows;
  rows.path = csv;
  rows.labels.assign(n, kUnknown);
  rows.splits.assign(n, TableSplit::kTrain);
  const auto require_number = [&](size_t count) {
    if (count != n) throw data_error("{}: {} rows for {} vectors in {}", csv, count, n, vectors.path());
  };
  if (const auto names = csv.empty() ? std::nullopt : read_name_column(csv)) {
    require_number(names->names.size());
    rows.names = names->names;
  }
  if (const auto splits = csv.empty() ? std::nullopt : read_split_column(csv)) {
    require_number(splits->size());
    rows.splits = *splits;
    rows.has_splits = true;
  }
  if (!csv.empty()) {
    const CsvTable fields(csv);
    for (const std::string& title : group.empty() ? std::vector<std::string>{kGroupColumn} : group) {
      const auto column = fields.find(title);
      if (!column) continue;
      require_number(fields.rows().size());
      ColumnFields values = fields.fields(*column);
      clear_missing_words(values);
      CategoricalValues groups = categorical_values(values, SignsAlone::kName);
      rows.columns.push_back({title, false, std::move(groups.names), std::move(groups.values), {}});
    }
  }
  return {std::move(vectors), std::move(rows), {}};
}

std::vector<std::string> column_texts(const TableColumn& column) {
  std::vector<std::string> texts;
  for (const int64_t value : column.values) texts.push_back(value == kUnknown ? "" : column.names[static_cast<size_t>(value)]);
  return texts;
}

// Of the rows of the table, by the titles; nothing without titles and a column `group`.
std::optional<RowGroups> groups_of_columns(const TableRows& rows, const std::vector<std::string>& titles) {
  const bool is_named = !titles.empty();
  std::vector<std::vector<std::string>> texts;
  for (const std::string& title : is_named ? titles : std::vector<std::string>{kGroupColumn}) {
    const auto column = std::ranges::find(rows.columns, title, &TableColumn::name);
    if (column != rows.columns.end() && !column->numeric) {
      texts.push_back(column_texts(*column));
      continue;
    }
    if (!is_named) return std::nullopt;
    if (rows.path.empty()) throw usage_error("pairs: --group {} names a column, and there is no CSV; add --csv C.csv", title);
    if (CsvTable(rows.path).find(title))
      throw usage_error("pairs: {}: column '{}' has a role of its own; give --group a column that says what belongs together", rows.path,
                        title);
    throw usage_error("pairs: {}: there is no column '{}' for --group{}", rows.path, title,
                      suggestion(title, CsvTable(rows.path).titles()));
  }
  RowGroups groups = groups_of_values({texts.begin(), texts.end()});
  groups.from = fmt::format("column {}", fmt::join(is_named ? titles : std::vector<std::string>{kGroupColumn}, ","));
  return groups;
}

std::vector<std::string> proposed_groups(const TableRows& rows) {
  if (rows.classes.empty()) return {};
  std::vector<int64_t> all(rows.labels.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  std::vector<std::string> notes;
  for (const LikelyGroup& likely : likely_groups(rows, all)) {
    notes.push_back(fmt::format("{}: if it names what belongs together, add --group {}", likely.text, likely.column));
  }
  return notes;
}

FeatureVectors usable_vectors(const FeatureTableFiles& files) {
  FeatureVectors vectors = FeatureVectors::open(files.vectors, files.key);
  require_usable(vectors);
  return vectors;
}

TableSplit split_named(const std::string& name) {
  const auto& values = EnumNames<TableSplit>::values;
  return std::ranges::find(values, name, [](const auto& entry) { return entry.first; })->second;
}

// `name` of parse_splits.
PairSplit table_split(const FeatureTable& table, const std::string& name) {
  const std::vector<int64_t> places = table.of_split(split_named(name));
  if (places.empty()) throw usage_error("pairs: no row of {} is of split {}", table.rows.path, name);
  PairSplit split{at::empty({std::ssize(places), table.vectors.dimensions()}, at::kFloat), {name, {}, {}, table.rows.classes}, {}};
  table.vectors.read_places(places, split.values.mutable_data_ptr<float>());
  for (const int64_t place : places) {
    split.rows.labels.push_back(table.rows.labels[static_cast<size_t>(place)]);
    if (table.rows.path.empty()) continue;  // without a CSV rows have no names
    split.rows.names.push_back(table.rows.names.empty() ? fmt::format("{}", place) : table.rows.names[static_cast<size_t>(place)]);
  }
  return split;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Of an image by its name in a CSV, where a name that is not UTF-8 has escapes.
fs::path image_path(const fs::path& folder, const std::string& name) {
  return is_file(folder / name) ? folder / name : folder / name_of_utf8(name);
}

// Folder of the named images: the first of the folders that has the first name; nothing if none has.
std::optional<std::string> folder_of_images(const NamedRows& rows, const std::string& root, const std::string& csv) {
  if (rows.names.empty()) {
    if (root.empty()) return std::nullopt;
    throw usage_error("pairs: --root {}: without a CSV rows have no names of images; add --csv C.csv with the column path", root);
  }
  const std::vector<std::string> folders =
      root.empty() ? std::vector<std::string>{fs::path(csv).parent_path().string(), ""} : std::vector<std::string>{root};
  for (const auto& folder : folders) {
    if (is_file(image_path(folder, rows.names.front()))) return folder;
  }
  if (!root.empty()) throw data_error("pairs: --root {}: there is no image '{}' below it", root, rows.names.front());
  return std::nullopt;
}

void find_images(PairSplit& split, const std::string& root, const std::string& csv) {
  const auto folder = folder_of_images(split.rows, root, csv);
  if (!folder) return;
  split.image = [folder = *folder, names = split.rows.names](int64_t row) {
    return read_image(image_path(folder, names[static_cast<size_t>(row)]).string(), ExifOrientation::kApplied);
  };
}

}  // namespace

SplitPair parse_splits(const std::string& text) {
  const size_t colon = text.find(':');
  const SplitPair splits{text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
  const std::vector<std::string> known = {"train", "valid", "test"};
  for (const auto& name : {splits.first, splits.second}) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw usage_error("pairs: --leaks '{}': give two of train, valid and test, such as train:test{}", text,
                      name.empty() ? "" : suggestion(name, known));
  }
  if (splits.first == splits.second) throw usage_error("pairs: --leaks '{}': give two different splits, such as train:test", text);
  return splits;
}

PairSource pairs_of_run(const RunToEmbed& asked, const SplitPair& splits, Progress& progress, Log& log) {
  const c10::Device device = resolve_device(asked.device);
  const LoadedRun run = load_run(asked.path, asked.which);
  require_image_run(run);
  const Recipe recipe = read_recipe(run.recipe);
  const EvaluatedData data = sections_of(run, recipe, splits, asked.root);
  run.encoder->to(device);
  DataWatch watch(recipe.verify, progress, log);
  watch.add_groups(asked.groups);
  const EvaluationInput input = open_for_evaluation(run, data, watch, log);
  EvaluationCache cache(input, progress);
  const auto split = [&](const std::string& name) { return pair_split(name, dataset_of(input, name), cache.split(name)); };
  PairSource source;
  source.first = split(splits.first);
  if (!splits.second.empty()) source.second = split(splits.second);
  std::vector<std::pair<const Dataset*, const std::vector<int64_t>*>> rows;
  for (const auto& name : {splits.first, splits.second}) {
    if (!name.empty()) rows.emplace_back(dataset_of(input, name).get(), &cache.split(name).indices);
  }
  source.notes = watch.notes();
  source.groups = sample_groups(rows);
  source.views = view_cosines(
      view_pair_features(input, input.train, "train", chosen_images(input.train->size(), kPriorImages, input.seed), input.seed, progress));
  source.temperature = source.knn_temperature = input.training_temperature;
  source.tau_plus = constant_prior(run.recipe, source.tau_plus);
  source.batch_size = recipe.train.batch_size;
  source.inputs = run_files(run);
  source.roots = roots_of(data);
  return source;
}

PairSource pairs_of_table(const FeatureTableFiles& files, const TableRowOptions& columns, const std::string& root, const SplitPair& splits,
                          const std::vector<std::string>& group) {
  const std::string csv = files.csv.empty() ? csv_beside(files.vectors) : files.csv;
  const FeatureTable table =
      csv.empty() || columns.label == kNoLabels ? unlabelled_table(usable_vectors(files), csv, group) : open_feature_table(files, columns);
  if (!splits.second.empty() && !table.rows.has_splits)
    throw usage_error("pairs: --leaks needs the column split; give --csv C.csv with that column");
  PairSource source;
  source.notes = table.remarks;
  source.first = table_split(table, splits.first);
  std::vector<int64_t> places = table.of_split(split_named(splits.first));
  if (!splits.second.empty()) {
    source.second = table_split(table, splits.second);
    std::ranges::copy(table.of_split(split_named(splits.second)), std::back_inserter(places));
  }
  if (const int64_t others = table.size() - std::ssize(places); others > 0 && splits.second.empty()) {
    source.notes.push_back(fmt::format("{} of {} rows are of other splits than {} and not searched: add --leaks train:test or train:valid",
                                       others, table.size(), splits.first));
  }
  source.groups = groups_of_columns(selected_rows(table.rows, places), group);
  if (!source.groups) std::ranges::copy(proposed_groups(table.rows), std::back_inserter(source.notes));
  find_images(source.first, root, csv);
  if (source.second) find_images(*source.second, root, csv);
  source.temperature = kTableLossTemperature;
  source.knn_temperature = kTableTemperature;
  source.inputs = {files.vectors, csv};
  if (!root.empty()) source.roots = {root};
  return source;
}

Image PairSource::image(int64_t row) const {
  const int64_t n = first.values.size(0);
  return row < n ? first.image(row) : second->image(row - n);
}

RowWords row_words(const PairSource& source, int64_t row) {
  const int64_t n = source.first.values.size(0);
  const NamedRows& rows = row < n ? source.first.rows : source.second->rows;
  const int64_t at = row < n ? row : row - n;
  return {rows.name(at), rows.split, rows.class_of(at)};
}

}  // namespace debias
