#include "debias/runs/found_pairs.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"
#include "debias/evaluate/protocols/chosen_images.h"
#include "debias/evaluate/protocols/view_pairs.h"
#include "debias/evaluate/table_input.h"
#include "debias/evaluate/thumbnail.h"
#include "debias/features/csv_beside.h"
#include "debias/image/image_decode.h"
#include "debias/mining/copied_images.h"
#include "debias/mining/pair_rows.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runs/prior_estimates.h"
#include "debias/runtime/device.h"
#include "debias/runtime/unit_rows.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr int kPairThumbnailSide = 128;

// Copies among the candidates, by their pixels where all splits have images.
std::vector<MinedPair> copies_of(const std::vector<MinedPair>& candidates, const PairSource& source, Progress& progress, Log& log) {
  if (!source.has_images()) {
    std::vector<MinedPair> copies;
    std::ranges::copy_if(candidates, std::back_inserter(copies), [](const MinedPair& p) { return p.cosine >= kUnconfirmedCopy; });
    return copies;
  }
  const auto read = [&](int64_t row, bool of_second) { return of_second ? source.second->image(row) : source.first.image(row); };
  ConfirmedCopies found = confirm_copies(candidates, read, progress);
  if (found.unreadable > 0)
    log.warn(fmt::format("{} images cannot be read and are not compared: {}", found.unreadable, found.first_unreadable));
  if (found.look_alike > 0) {
    log.info(fmt::format("{} pairs look alike and do not count as copies: more than {:g} % of the images are in such a pair",
                         found.look_alike, 100 * kRareLookAlikes));
  }
  return found.pairs;
}

nlohmann::ordered_json number_or_null(const std::optional<double>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

}  // namespace

MiningOptions mining_options(const PairRequest& request, const PairSource& source) {
  MiningOptions options;
  options.temperature = request.temperature.value_or(source.temperature);
  options.tau_plus = request.tau_plus.value_or(source.tau_plus);
  options.batch_size = source.batch_size;
  options.rank = request.rank;
  options.seed = request.seed;
  options.check();
  return options;
}

FoundPairs find_pairs(const PairRequest& request, const MiningOptions& options, const PairSource& source, Progress& progress, Log& log) {
  FoundPairs found;
  found.options = options;
  found.by_views = source.views.known();
  found.on_pixels = source.has_images();
  const at::Tensor unit = unit_rows(source.first.values, "pairs: rows").contiguous();
  const PairRanking ranking(unit, source.views, found.options, progress);
  found.searched = unit.size(0);
  found.threshold = duplicate_threshold(ranking, source.views);
  const NamedRows& first = source.first.rows;
  if (request.sample) {
    found.rows = pair_rows(sampled_pairs(unit, ranking, *request.sample, request.seed), first, first);
    return found;
  }
  std::vector<MinedPair> pairs, copies = copies_of(duplicate_candidates(ranking, found.threshold), source, progress, log);
  std::set<std::pair<int64_t, int64_t>> copied;
  for (const MinedPair& pair : copies) copied.emplace(pair.a, pair.b);
  for (const MinedPair& pair : ranking.pairs()) {
    if (std::ssize(pairs) == request.top) break;
    if (!copied.contains({pair.a, pair.b})) pairs.push_back(pair);
  }
  pairs.insert(pairs.end(), copies.begin(), copies.end());
  if (source.second) {
    const at::Tensor second = unit_rows(source.second->values, "pairs: rows").contiguous();
    const std::vector<MinedPair> leaks = copies_of(leak_candidates(unit, second, ranking, found.threshold), source, progress, log);
    pairs.insert(pairs.end(), leaks.begin(), leaks.end());
    found.leaks = split_leaks(leaks, source.first.values, first, source.second->values, source.second->rows, source.knn_temperature);
  }
  found.rows = pair_rows(pairs, first, source.second ? source.second->rows : first);
  return found;
}

nlohmann::ordered_json to_json(const FoundPairs& found) {
  nlohmann::ordered_json json = {{"rows", found.searched},
                                 {"temperature", found.options.temperature},
                                 {"tau_plus", found.options.tau_plus},
                                 {"rank", enum_name(found.options.rank)},
                                 {"posterior", found.by_views ? "views" : "mixture"},
                                 {"copies_confirmed_on_pixels", found.on_pixels},
                                 {"copy_threshold", found.threshold},
                                 {"pairs", nlohmann::ordered_json::array()},
                                 {"same_label_share", nlohmann::ordered_json::object()},
                                 {"leaks", nullptr}};
  for (const PairRow& row : found.rows) json["pairs"].push_back(to_json(row));
  for (const auto& [name, kind] : EnumNames<PairKind>::values) {
    if (const auto share = same_label_share(found.rows, kind)) json["same_label_share"][name] = *share;
  }
  if (!found.leaks) return json;
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (const LeakedClass& of : found.leaks->classes) classes.push_back({{"class", of.name}, {"leaked", of.leaked}, {"rows", of.rows}});
  json["leaks"] = {{"leaked", found.leaks->leaked},
                   {"rows", found.leaks->rows},
                   {"classes", std::move(classes)},
                   {"accuracy", number_or_null(found.leaks->accuracy)},
                   {"accuracy_without", number_or_null(found.leaks->accuracy_without)}};
  return json;
}

std::string marking_page(const FoundPairs& found, const PairSource& source, const std::string& name) {
  return pairs_page(found.rows, "Pairs of " + name, "answers.csv", [&](int64_t row, bool of_second) -> std::optional<Image> {
    const PairSplit& split = of_second ? *source.second : source.first;
    if (!split.image) return std::nullopt;
    try {
      return thumbnail(split.image(row), kPairThumbnailSide);
    } catch (const Error&) {  // named where copies were looked for
      return std::nullopt;
    }
  });
}

namespace {

constexpr const char* kNoLabels = "none";       // in the place of a column's name
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

// A table whose rows have the names and splits of the CSV, if there is one, and no labels.
FeatureTable unlabelled_table(FeatureVectors vectors, const std::string& csv) {
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
  return {std::move(vectors), std::move(rows), {}};
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
  const EvaluationInput input = open_for_evaluation(run, data, watch, log);
  EvaluationCache cache(input, progress);
  const auto split = [&](const std::string& name) { return pair_split(name, dataset_of(input, name), cache.split(name)); };
  PairSource source;
  source.first = split(splits.first);
  if (!splits.second.empty()) source.second = split(splits.second);
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
                          Log& log) {
  const std::string csv = files.csv.empty() ? csv_beside(files.vectors) : files.csv;
  const FeatureTable table =
      csv.empty() || columns.label == kNoLabels ? unlabelled_table(usable_vectors(files), csv) : open_feature_table(files, columns);
  if (!splits.second.empty() && !table.rows.has_splits)
    throw usage_error("pairs: --leaks needs the column split; give --csv C.csv with that column");
  for (const auto& remark : table.remarks) log.info(remark);
  PairSource source;
  source.first = table_split(table, splits.first);
  if (!splits.second.empty()) source.second = table_split(table, splits.second);
  find_images(source.first, root, csv);
  if (source.second) find_images(*source.second, root, csv);
  source.temperature = kTableLossTemperature;
  source.knn_temperature = kTableTemperature;
  source.inputs = {files.vectors, csv};
  if (!root.empty()) source.roots = {root};
  return source;
}

}  // namespace debias
