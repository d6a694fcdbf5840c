#include "debias/runs/found_pairs.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"
#include "debias/data/csv_text.h"
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

// Rows of both splits, joined into images.
class Copies {
 public:
  Copies(const PairSource& source, const at::Tensor& unit, int64_t first)
      : source_(source), unit_(unit), first_(first), parent_(static_cast<size_t>(unit.size(0))) {
    std::iota(parent_.begin(), parent_.end(), int64_t{0});
  }

  int64_t root(int64_t row) {
    while (parent(row) != row) row = parent(row) = parent(parent(row));
    return row;
  }

  // Pairs that are copies, by pixels where all splits have images, are joined. The number that joined two images.
  int64_t join(const std::vector<MinedPair>& candidates, Progress& progress) {
    int64_t joined = 0;
    for (const MinedPair& pair : confirmed(candidates, progress)) {
      const int64_t a = root(pair.a), b = root(pair.b);
      if (a != b) ++joined;
      parent(std::max(a, b)) = std::min(a, b);
    }
    return joined;
  }

  std::vector<int64_t> images() {
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < std::ssize(parent_); ++row) {
      if (root(row) == row) rows.push_back(row);
    }
    return rows;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (!flat_.empty())
      notes.push_back(
          fmt::format("{} images without detail (one colour or blank) look alike and are not called copies: the first is '{}'; remove them "
                      "if they are placeholders",
                      flat_.size(), row_words(source_, *flat_.begin()).path));
    if (unreadable_ > 0) notes.push_back(fmt::format("{} images cannot be read and are not compared: {}", unreadable_, first_unreadable_));
    if (look_alike_ > 0)
      notes.push_back(fmt::format("{} pairs look alike and do not count as copies: more than {:g} % of the images are in such a pair",
                                  look_alike_, 100 * kRareLookAlikes));
    return notes;
  }

 private:
  int64_t& parent(int64_t row) { return parent_[static_cast<size_t>(row)]; }

  std::vector<MinedPair> confirmed(const std::vector<MinedPair>& candidates, Progress& progress) {
    if (!source_.has_images()) {
      std::vector<MinedPair> copies;
      std::ranges::copy_if(candidates, std::back_inserter(copies), [](const MinedPair& p) { return p.cosine >= kUnconfirmedCopy; });
      return copies;
    }
    const auto read = [&](int64_t row, bool) { return row < first_ ? source_.first.image(row) : source_.second->image(row - first_); };
    ConfirmedCopies found = confirm_copies(candidates, read, progress);
    if (found.unreadable > unreadable_) {
      unreadable_ = found.unreadable;
      first_unreadable_ = found.first_unreadable;
    }
    look_alike_ = found.look_alike;
    flat_.insert(found.flat.begin(), found.flat.end());
    return found.pairs;
  }

  const PairSource& source_;
  at::Tensor unit_;
  int64_t first_;
  std::vector<int64_t> parent_;
  std::set<int64_t> flat_;
  int64_t unreadable_ = 0, look_alike_ = 0;
  std::string first_unreadable_;
};

// The first row with the same values, for each row.
std::vector<int64_t> first_repeats(const at::Tensor& unit) {
  std::unordered_map<std::string_view, int64_t> first;
  std::vector<int64_t> of_row;
  const auto bytes = static_cast<size_t>(unit.size(1)) * sizeof(float);
  for (int64_t row = 0; row < unit.size(0); ++row) {
    const std::string_view values(reinterpret_cast<const char*>(unit.const_data_ptr<float>()) + static_cast<size_t>(row) * bytes, bytes);
    of_row.push_back(first.emplace(values, row).first->second);
  }
  return of_row;
}

at::Tensor rows_of(const at::Tensor& unit, const std::vector<int64_t>& rows) {
  return unit.index_select(0, at::tensor(rows, at::kLong)).contiguous();
}

// Joins exact repeats, then what is near, until a search among one row of each image joins nothing more: copies in number neither hide
// one another among the nearest rows nor raise the threshold.
void join_copies(Copies& copies, const at::Tensor& unit, const std::vector<int64_t>& repeats, const PairSource& source, FoundPairs& found,
                 Progress& progress) {
  std::vector<MinedPair> exact;
  for (int64_t row = 0; row < std::ssize(repeats); ++row) {
    const int64_t before = repeats[static_cast<size_t>(row)];
    if (before != row) exact.push_back({.a = before, .b = row, .cosine = 1, .kind = PairKind::kDuplicate});
  }
  if (!exact.empty()) copies.join(exact, progress);
  for (int64_t joined = 1; joined > 0;) {
    const std::vector<int64_t> images = copies.images();
    if (images.size() < 2) break;
    const PairRanking ranking(rows_of(unit, images), source.views, found.options, progress);
    found.threshold = duplicate_threshold(ranking, source.views);
    if (!source.has_images()) found.threshold = std::min<double>(found.threshold, kUnconfirmedCopy);
    std::vector<MinedPair> near = duplicate_candidates(ranking, found.threshold);
    for (MinedPair& pair : near) {
      pair.a = images[static_cast<size_t>(pair.a)];
      pair.b = images[static_cast<size_t>(pair.b)];
    }
    joined = copies.join(near, progress);
  }
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
  const at::Tensor first_unit = unit_rows(source.first.values, "pairs: rows").contiguous();
  const NamedRows& first = source.first.rows;
  const int64_t n = found.searched = first_unit.size(0);
  if (request.sample) {
    const PairRanking ranking(first_unit, source.views, found.options, progress);
    found.rows = pair_rows(sampled_pairs(first_unit, ranking, *request.sample, request.seed), first, first);
    return found;
  }
  if (n < 2) throw data_error("pairs: {} row has no pair; give two rows or more", n);
  const at::Tensor unit = source.second ? at::cat({first_unit, unit_rows(source.second->values, "pairs: rows")}).contiguous() : first_unit;
  const std::vector<int64_t> repeats = first_repeats(unit);
  Copies copies(source, unit, n);
  join_copies(copies, unit, repeats, source, found, progress);

  // Each image once; rows that repeat another's features, and rows of zeros, have no order of their own.
  std::vector<int64_t> ranked, place(static_cast<size_t>(n), -1);
  const at::Tensor norms = first_unit.square().sum(1).contiguous();
  for (int64_t row = 0; row < n; ++row) {
    if (copies.root(row) != row || repeats[static_cast<size_t>(row)] != row || norms.const_data_ptr<float>()[row] == 0) continue;
    place[static_cast<size_t>(row)] = std::ssize(ranked);
    ranked.push_back(row);
  }
  std::optional<PairRanking> ranking;
  if (ranked.size() >= 2) ranking.emplace(rows_of(first_unit, ranked), source.views, found.options, progress);
  std::vector<MinedPair> pairs;
  if (ranking) {
    pairs.assign(ranking->pairs().begin(), ranking->pairs().begin() + std::min<int64_t>(request.top, std::ssize(ranking->pairs())));
    for (MinedPair& pair : pairs) {
      pair.a = ranked[static_cast<size_t>(pair.a)];
      pair.b = ranked[static_cast<size_t>(pair.b)];
    }
  }
  std::map<int64_t, CopiedImage> images;
  std::vector<MinedPair> duplicates, leaks;
  for (int64_t row = 0; row < unit.size(0); ++row) {
    const int64_t root = copies.root(row);
    found.image_of_row.push_back(root);
    images[root].rows.push_back(row);
    if (root == row || root >= n) continue;
    const PairKind kind = row < n ? PairKind::kDuplicate : PairKind::kLeak;
    const auto cosine = std::clamp(unit[root].dot(unit[row]).item<float>(), -1.0f, 1.0f);
    const int64_t at = place[static_cast<size_t>(root)];
    MinedPair pair{.cosine = cosine, .gradient = std::nan(""), .kind = kind};
    if (at >= 0) pair = ranking ? ranking->scored(at, at, cosine, kind) : pair;
    pair.a = root;
    pair.b = row < n ? row : row - n;
    (row < n ? duplicates : leaks).push_back(pair);
  }
  for (auto& [root, image] : images) {
    if (image.rows.size() < 2) continue;
    std::set<std::string> labels;
    for (const int64_t row : image.rows) labels.insert(row_words(source, row).label);
    labels.erase("");
    image.labels_conflict = labels.size() > 1;
    found.copies.push_back(std::move(image));
  }
  std::ranges::stable_sort(found.copies, [](const CopiedImage& x, const CopiedImage& y) {
    return std::pair(x.labels_conflict, x.rows.size()) > std::pair(y.labels_conflict, y.rows.size());
  });
  pairs.insert(pairs.end(), duplicates.begin(), duplicates.end());
  pairs.insert(pairs.end(), leaks.begin(), leaks.end());
  if (source.second)
    found.leaks = split_leaks(leaks, source.first.values, first, source.second->values, source.second->rows, source.knn_temperature);
  found.rows = pair_rows(pairs, first, source.second ? source.second->rows : first);
  found.notes = copies.notes();
  for (const auto& note : found.notes) log.warn(note);
  return found;
}

RowWords row_words(const PairSource& source, int64_t row) {
  const int64_t n = source.first.values.size(0);
  const NamedRows& rows = row < n ? source.first.rows : source.second->rows;
  const int64_t at = row < n ? row : row - n;
  return {rows.name(at), rows.split, rows.class_of(at)};
}

std::string groups_csv(const FoundPairs& found, const PairSource& source) {
  std::string csv = source.second ? "path,group,split\n" : "path,group\n";
  std::map<int64_t, size_t> number;
  for (size_t row = 0; row < found.image_of_row.size(); ++row) {
    const RowWords words = row_words(source, static_cast<int64_t>(row));
    std::vector<std::string> fields = {words.path,
                                       fmt::format("{}", number.try_emplace(found.image_of_row[row], number.size()).first->second)};
    if (source.second) fields.push_back(words.split);
    csv += csv_line(fields);
  }
  return csv;
}

nlohmann::ordered_json to_json(const FoundPairs& found, const PairSource& source) {
  nlohmann::ordered_json json = {{"rows", found.searched},
                                 {"temperature", found.options.temperature},
                                 {"tau_plus", found.options.tau_plus},
                                 {"rank", enum_name(found.options.rank)},
                                 {"posterior", found.by_views ? "views" : "mixture"},
                                 {"copies_confirmed_on_pixels", found.on_pixels},
                                 {"copy_threshold", found.threshold},
                                 {"pairs", nlohmann::ordered_json::array()},
                                 {"same_label_share", nlohmann::ordered_json::object()},
                                 {"leaks", nullptr},
                                 {"copies", nlohmann::ordered_json::array()},
                                 {"notes", found.notes}};
  const std::set<int64_t> images(found.image_of_row.begin(), found.image_of_row.end());
  json["groups"] = images.size();
  json["groups_from"] = found.copies.empty() ? "none" : "near-copies";
  for (const CopiedImage& copied : found.copies) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const int64_t row : copied.rows) {
      const RowWords words = row_words(source, row);
      rows.push_back({{"path", words.path}, {"split", words.split}, {"label", words.label}});
    }
    json["copies"].push_back({{"labels_conflict", copied.labels_conflict}, {"images", std::move(rows)}});
  }
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
