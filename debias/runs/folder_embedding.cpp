#include "debias/runs/folder_embedding.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "debias/core/atomic_file.h"
#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/nearest_name.h"
#include "debias/core/npy.h"
#include "debias/core/paths.h"
#include "debias/core/printable.h"
#include "debias/core/registry.h"
#include "debias/core/safetensors.h"
#include "debias/core/sha256.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/fingerprint.h"
#include "debias/data/folder_layout.h"
#include "debias/data/name_table.h"
#include "debias/data/readers/label_file.h"
#include "debias/encoders/state.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/features.h"
#include "debias/runs/run_embedding.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

bool ends_as_recipe(const std::string& text) { return text.ends_with(".yaml") || text.ends_with(".yml"); }
bool looks_like_a_path(const std::string& text) {
  return ends_as_recipe(text) || text.ends_with(".safetensors") || text.find('/') != std::string::npos;
}

void require_weights(const ChosenEncoder& encoder, const std::string& option) {
  const std::string& name = encoder.entry->name;
  if (encoder.entry->reads_words) throw usage_error("{}: encoder '{}' reads sentences; give one of images", option, name);
  if (!encoder.weights_file.empty()) return;
  throw usage_error("{}: encoder '{}' has no weights, so its features would be random; add weights: F.safetensors", option, name);
}

FrozenEncoder of_recipe(const std::string& path, const std::string& option) {
  const Config root = read_yaml_file(path);
  const Recipe recipe = read_recipe(root);
  FrozenEncoder frozen{section_map(*root.find("encoder")), recipe.encoder, recipe.view_steps.section, {path}};
  if (recipe.view_steps.eval != nullptr) frozen.views.set("eval", recipe.view_steps.eval->section);
  require_weights(frozen.encoder, option);
  return frozen;
}

FrozenEncoder of_weights(const std::string& path, const std::string& option) {
  const ForeignFile foreign = foreign_file(InputFile(path));
  if (!foreign.what.empty()) {
    throw data_error(
        "{}: '{}' is {}, and weights are read from safetensors; {}, or of TorchScript give '{{name: torchscript, file: {}, sha256: ...}}'",
        option, path, foreign.what, foreign.advice, path);
  }
  auto section = section_of_weights(SafetensorsFile::open(path));
  if (!section) {
    throw data_error("{}: the keys of '{}' match no supported encoder (debias list encoders); give the model as TorchScript", option, path);
  }
  section->set("weights", Config::string(path));
  return {*section, read_encoder(*section), {}};
}

// `eval_is_given`: the changes have all of `eval`, so that the side of the weights need not be known.
Config views_of_weights(const FrozenEncoder& frozen, bool eval_is_given) {
  Config views = parse_yaml("{preset: none}", "");
  if (!eval_is_given) {
    const int64_t side = pretrained_side(frozen.encoder);
    views.set("eval", parse_yaml(fmt::format("{{resize: {{size: {}}}, center_crop: {{size: {}}}}}", side * 8 / 7, side), ""));
  }
  if (const auto asked = frozen.encoder.normalisation()) {
    Config normalize = Config::map();
    normalize.set("mean", write_value<std::vector<double>>(asked->mean));
    normalize.set("std", write_value<std::vector<double>>(asked->std));
    views.set("normalize", normalize);
  }
  return views;
}

ChosenViews changed_views(const FrozenEncoder& frozen, const DatasetInfo& images) {
  const bool eval_is_given =
      std::ranges::any_of(frozen.view_changes, [](const std::string& change) { return change.starts_with("views.eval="); });
  Config views = frozen.views;
  if (views.is_null()) {
    views = views_of_weights(frozen, eval_is_given);
  } else if (views.find("eval") == nullptr && !eval_is_given) {
    views.set("eval", default_eval_views(read_views(views), images).section);
  }
  Config recipe = Config::map({{"views", std::move(views)}});
  for (const std::string& change : frozen.view_changes) {
    const size_t begin = std::string_view("views.").size();
    const std::string key = change.substr(begin, change.find_first_of(".=[", begin) - begin);
    if (key != "eval" && key != "normalize") {
      throw usage_error("'{}': an encoder without a run takes only the evaluation views, views.eval and views.normalize{}", change,
                        suggestion(key, {"eval", "normalize"}));
    }
    recipe.assign(change);
  }
  return read_views(*recipe.find("views"));
}

}  // namespace

FrozenEncoder frozen_encoder(const std::string& text, const std::string& option) {
  std::error_code ignored;  // a long section is not a file name
  if (fs::is_directory(text, ignored)) {
    throw usage_error("{}: '{}' is a folder; give F.safetensors, RECIPE.yaml or a section {{name: ..., weights: F.safetensors}}", option,
                      text);
  }
  FrozenEncoder frozen;
  if (fs::exists(text, ignored)) {
    frozen = ends_as_recipe(text) ? of_recipe(text, option) : of_weights(text, option);
  } else {
    const Config section = parse_yaml(text, option);
    if (!section.is_map() && looks_like_a_path(text)) throw data_error("{}: '{}': no such file{}", option, text, start_of(text));
    frozen.section = section_map(section);
    frozen.encoder = read_encoder(section);
    require_weights(frozen.encoder, option);
  }
  frozen.files.push_back(frozen.encoder.weights_file);
  return frozen;
}

std::shared_ptr<Encoder> opened_encoder(const FrozenEncoder& frozen, int64_t channels) {
  auto encoder = frozen.encoder.make(channels, 1);
  encoder->eval();
  return encoder;
}

int64_t pretrained_side(const ChosenEncoder& encoder) {
  if (encoder.pretrained) return encoder.pretrained->side;
  throw usage_error("encoder '{}': the image size of its weights is unknown; give a recipe, whose views define it", encoder.entry->name);
}

ViewPipeline frozen_views(const FrozenEncoder& frozen, const Encoder& encoder, const DatasetInfo& images) {
  ViewPipeline pipeline = eval_views(changed_views(frozen, images), images);
  const auto tall = pipeline.output_size(307, 211), wide = pipeline.output_size(211, 307);
  if (tall != wide && (images.height == 0 || images.width == 0)) {
    throw usage_error("encoder '{}': its recipe's views do not resize images; give it views.eval with a resize and a crop",
                      frozen.encoder.entry->name);
  }
  const auto side = encoder.image_side();
  const auto size = images.height > 0 ? pipeline.output_size(images.height, images.width) : tall;
  if (side && (size.first != *side || size.second != *side)) {
    throw usage_error("encoder '{}': the recipe's evaluation views have {}x{} pixels and it takes {}x{}; change views.eval",
                      frozen.encoder.entry->name, size.first, size.second, *side, *side);
  }
  return pipeline;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kPixelsOfABatch = int64_t{32} * 224 * 224;  // what a network of ImageNet holds of 32 images fits into a gigabyte

struct FolderSplit {
  std::string name;  // in the table: train, valid or test
  ChosenData data;
  std::shared_ptr<const Dataset> images;
};

struct EmbeddingPaths {
  std::string vectors, rows, record;
};

EmbeddingPaths paths_of(const std::string& out) {
  const std::string ending = fs::path(out).extension();
  if (ending == ".csv" || ending == ".parquet" || ending == ".safetensors") {
    throw usage_error("embed: --out {}: with --encoder the vectors are a NumPy array and the rows a CSV beside it; give F.npy", out);
  }
  const std::string stem = ending == ".npy" ? out.substr(0, out.size() - ending.size()) : out;
  return {stem + ".npy", stem + ".csv", stem + ".embedding.json"};
}

Config section_for(const FolderEmbeddingRequest& asked, const std::string& split) {
  Config section = Config::map({{"name", Config::string(asked.reader)}, {"root", Config::string(asked.folder)}});
  if (!split.empty()) section.set("split", Config::string(split));
  for (const std::string& word : asked.words) section.assign(word);
  if (asked.groups.empty()) return section;
  const Config* written = section.find("labels");
  LabelColumns columns = written == nullptr ? LabelColumns() : LabelColumns::from_config(*written, "labels");
  if (columns.file.empty())
    throw usage_error("embed: --group {}: there is no CSV of labels whose columns it could name; add labels=FILE.csv", asked.groups);
  columns.group = asked.groups;
  section.set("labels", columns.config());
  return section;
}

bool is_given(const Config& section, const char* key) { return section.find(key) != nullptr; }

// The name of a split in the table, of one that a reader knows by another.
std::string table_name(const std::string& split) {
  if (split == "held_out") return "test";
  return split == "train" || split == "valid" || split == "test" ? split : "train";
}

// All splits of the folder: its own, and what is held out of its training images.
std::vector<FolderSplit> splits_of(const FolderEmbeddingRequest& asked) {
  const Config plain = section_for(asked, "");
  if (const Config* split = plain.find("split")) return {{table_name(split->text()), read_data(plain), nullptr}};
  std::vector<FolderSplit> splits;
  const auto add = [&](const std::string& name, const std::string& split) {
    Config section = section_for(asked, split);
    if (!splits.empty() && split != "held_out") section.erase("hold_out");
    splits.push_back({name, read_data(section), nullptr});
  };
  if (data_set_is(asked.reader, &DatasetEntry::is_any_folder)) {
    const FolderLayout layout = find_layout(asked.folder);
    add("train", layout.train == "train" ? "" : layout.train);
    if (!layout.valid.empty()) add("valid", layout.valid);
    if (!layout.test.empty()) add("test", layout.test);
  } else {
    add("train", "train");
    add("test", "test");
  }
  if (is_given(plain, "hold_out")) add("test", "held_out");
  return splits;
}

// Numbers of classes and bias labels differ between sets; names do not.
std::string field_of(const std::vector<std::string>& names, int64_t number, CsvCells cells) {
  if (number == kUnknown) return "";
  return names.empty() ? fmt::format("{}", number) : csv_field(value_name(names, number), cells);
}

// A feature table has labelled rows only; a folder without any labels is no table, and all of its images are embedded.
Features labelled(Features features, bool some_labels, std::vector<std::string>& notes, const std::string& split) {
  if (!some_labels) return features;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < features.labels.size(); ++i) {
    if (features.labels[i] != kUnknown) kept.push_back(static_cast<int64_t>(i));
  }
  const int64_t without = std::ssize(features.labels) - std::ssize(kept);
  if (without == 0) return features;
  notes.push_back(fmt::format("{}: {} images without a label are left out", split, without));
  Features result{features.values.index_select(0, at::tensor(kept, at::kLong)), {}, {}, {}, features.unreadable};
  for (const int64_t i : kept) {
    result.labels.push_back(features.labels[static_cast<size_t>(i)]);
    result.biases.push_back(features.biases[static_cast<size_t>(i)]);
    result.indices.push_back(features.indices[static_cast<size_t>(i)]);
  }
  return result;
}

std::string row_lines(const FolderSplit& split, const Features& features, bool with_bias, bool with_groups, bool with_split_in_path,
                      CsvCells cells) {
  const DatasetInfo& info = split.images->info();
  std::string lines;
  for (size_t i = 0; i < features.labels.size(); ++i) {
    const std::string source = split.images->source(features.indices[i]);
    lines += csv_field(with_split_in_path ? split.name + "/" + source : source, cells);
    lines += "," + field_of(info.class_names, features.labels[i], cells);
    if (with_bias) lines += "," + field_of(info.bias_names, features.biases[i], cells);
    lines += "," + split.name + (with_groups ? "," + group_field(*split.images, features.indices[i], cells) : "") + "\n";
  }
  return lines;
}

// What the table depends on.
Json source_json(const FrozenEncoder& frozen, const ViewPipeline& views, const std::vector<FolderSplit>& splits,
                 const FolderEmbeddingRequest& asked) {
  Json data = Json::array();
  for (const FolderSplit& split : splits) {
    data.push_back({{"split", split.name},
                    {"section", split.data.section.to_json()},
                    {"images", to_json(fingerprint(*split.images, split.data, Verify::kListing))}});
  }
  Json source = {{"encoder", frozen.section.to_json()},  {"weights_sha256", file_digest(frozen.encoder.weights_file)},
                 {"views", views.config().to_json()},    {"precision", enum_name(asked.precision)},
                 {"raw", asked.cells == CsvCells::kRaw}, {"data", std::move(data)}};
  if (asked.on_error != OnError::kStop) source["on_error"] = "skip";
  return source;
}

// The record of an earlier table of the same source whose files are as they were written.
std::optional<Json> earlier_record(const EmbeddingPaths& paths, const Json& source) {
  if (!fs::exists(paths.record) || !fs::exists(paths.vectors) || !fs::exists(paths.rows)) return std::nullopt;
  std::ifstream file(paths.record, std::ios::binary);
  Json record = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record.contains("result") || record.value("source", Json()) != source) return std::nullopt;
  const Json written = {{"vectors", file_digest(paths.vectors)}, {"rows", file_digest(paths.rows)}};
  if (record.value("sha256", Json()) != written) return std::nullopt;
  return record;
}

FolderEmbedding embedding_of(const Json& result, const EmbeddingPaths& paths, bool reused, Log& log) {
  FolderEmbedding made;
  made.files = {paths.vectors, paths.rows};
  made.reused = reused;
  made.rows = result.at("count").get<int64_t>();
  made.dimensions = result.at("dimensions").get<int64_t>();
  made.encoder = result.at("encoder").get<std::string>();
  made.skipped = result.value("skipped", std::vector<std::string>());
  made.notes = result.value("notes", std::vector<std::string>());
  for (const auto& note : made.notes) log.warn(note);
  warn_of_skipped(made.skipped, log);
  for (const auto& [name, count] : result.at("splits").items()) made.splits.emplace_back(name, count.get<int64_t>());
  return made;
}

}  // namespace

FolderEmbedding embed_folder(const FolderEmbeddingRequest& asked, Progress& progress, Log& log) {
  const EmbeddingPaths paths = paths_of(asked.out);
  FrozenEncoder frozen = frozen_encoder(asked.encoder, "embed: --encoder");
  frozen.view_changes = asked.views;
  const c10::Device device = resolve_device(asked.device);
  std::vector<FolderSplit> splits = splits_of(asked);
  std::vector<std::string> inputs = frozen.files, notes;
  for (FolderSplit& split : splits) {
    const auto files = files_named_in(split.data.section);
    inputs.insert(inputs.end(), files.begin(), files.end());
    split.images = split.data.make_images();
    for (const auto& remark : split.images->info().remarks) {
      if (std::ranges::find(notes, remark) == notes.end()) notes.push_back(remark);
    }
  }
  for (const auto& path : {paths.vectors, paths.rows, paths.record}) refuse_inside_data(path, {asked.folder});
  refuse_overwriting("embed", {paths.vectors, paths.rows, paths.record}, inputs);
  const auto encoder = opened_encoder(frozen, splits.front().images->info().channels);
  const ViewPipeline views = frozen_views(frozen, *encoder, splits.front().images->info());
  const Json source = source_json(frozen, views, splits, asked);
  if (const auto record = earlier_record(paths, source)) return embedding_of(record->at("result"), paths, /*reused=*/true, log);

  const auto [height, width] = views.output_size(307, 211);
  encoder->to(device);
  const EncoderCopies copies = copies_beside(*encoder, [&] { return opened_encoder(frozen, splits.front().images->info().channels); });
  const ExtractOptions options{.batch_size = std::clamp<int64_t>(kPixelsOfABatch / (int64_t{height} * width), 1, 256),
                               .workers = std::clamp<int64_t>(available_cpus() / 2, 1, 16),
                               .precision = asked.precision,
                               .on_error = asked.on_error};
  const bool with_bias = std::ranges::any_of(splits, [](const FolderSplit& split) { return !split.images->info().bias_names.empty(); });
  const bool some_labels = std::ranges::any_of(splits, [](const FolderSplit& split) { return !split.images->info().class_names.empty(); });
  const bool with_groups = std::ranges::any_of(splits, [](const FolderSplit& split) { return !split.images->info().group_names.empty(); });
  std::string csv = fmt::format("path,label,{}split{}\n", with_bias ? "bias," : "", with_groups ? ",group" : "");
  std::vector<at::Tensor> parts;
  Json result = {{"count", 0}, {"dimensions", encoder->feature_dim()}, {"encoder", frozen.encoder.entry->name}, {"splits", Json::object()}};
  for (const FolderSplit& split : splits) {
    Features extracted = extract_features(*encoder, split.images, views, options, progress, copies);
    const std::vector<std::string> skipped = unreadable_sources(extracted, *split.images);
    for (const auto& image : skipped) result["skipped"].push_back(image);
    if (std::string note = note_on_skipped(skipped, *split.images); !note.empty()) notes.push_back(std::move(note));
    const Features features = labelled(std::move(extracted), some_labels, notes, split.name);
    parts.push_back(features.values);
    csv += row_lines(split, features, with_bias, with_groups, !data_set_is(asked.reader, &DatasetEntry::is_any_folder) && splits.size() > 1,
                     asked.cells);
    result["splits"][split.name] = result["splits"].value(split.name, int64_t{0}) + features.values.size(0);
  }
  const at::Tensor all = at::cat(parts, 0);
  result["count"] = all.size(0);
  result["notes"] = notes;
  write_npy(paths.vectors, DType::kFloat32, all.sizes().vec(), all.const_data_ptr());
  write_file_atomically(paths.rows, csv);
  const Json sums = {{"vectors", file_digest(paths.vectors)}, {"rows", file_digest(paths.rows)}};
  write_file_atomically(paths.record, Json({{"source", source}, {"sha256", sums}, {"result", result}}).dump(2) + "\n");
  return embedding_of(result, paths, /*reused=*/false, log);
}

nlohmann::ordered_json to_json(const FolderEmbedding& embedding) {
  nlohmann::ordered_json splits = nlohmann::ordered_json::object();
  for (const auto& [name, count] : embedding.splits) splits[name] = count;
  return {{"count", embedding.rows},  {"dimensions", embedding.dimensions}, {"encoder", embedding.encoder}, {"splits", std::move(splits)},
          {"files", embedding.files}, {"skipped", embedding.skipped},       {"reused", embedding.reused},   {"notes", embedding.notes}};
}

std::string embedding_text(const FolderEmbedding& embedding) {
  std::string text, splits;
  for (const auto& path : embedding.files) text += without_control_characters(path) + "\n";
  for (const auto& [name, count] : embedding.splits) splits += fmt::format("{}{} {}", splits.empty() ? "" : ", ", name, count);
  return fmt::format("{}{} images ({}), {} dimensions, {}, not normalised{}\n", text, embedding.rows, splits, embedding.dimensions,
                     embedding.encoder, embedding.reused ? "; reused from an earlier call with the same images, weights and views" : "");
}

}  // namespace debias
