#include "debias/runs/protocol_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/image/geometry.h"
#include "debias/image/image_encode.h"
#include "debias/report/metric_title.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

// Thumbnails of the images that the details of a result refer to.

void write_thumbnail(const std::string& path, const Image& image) {
  const std::vector<uint8_t> bytes = encode_png(image);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw resource_error("writing '{}': it cannot be written; check the folder, its permissions and the disk", path);
}

// Writes FOLDER/<name>.png for each image, at most 64 pixels wide and high. Earlier content is removed.
void replace_thumbnails(const std::string& folder, const std::map<std::string, ShownImage>& images) {
  std::error_code failure;
  fs::remove_all(folder, failure);
  if (failure) throw resource_error("removing '{}': {}; check its permissions", folder, failure.message());
  AtomicFolder building(folder);
  for (const auto& [name, image] : images) {
    write_thumbnail(fmt::format("{}/{}.png", building.building(), name), thumbnail(image.dataset->get(image.index).image));
  }
  building.commit();
}

}  // namespace

ProtocolEvaluation::ProtocolEvaluation(const Recipe& recipe, std::vector<std::string> protocols, EvaluatedData data, EvaluationInput input,
                                       Progress& progress, Log& log)
    : recipe_(recipe),
      protocols_(std::move(protocols)),
      data_(std::move(data)),
      input_(std::move(input)),
      progress_(progress),
      log_(log),
      files_(recipe.output, "") {}

std::vector<std::pair<std::string, double>> ProtocolEvaluation::after_epoch(const EpochEnd& end) {
  take(end.model);
  EvaluationCache cache(input_, progress_, recipe_.protocol_options);
  NamedMetrics metrics;
  for (const auto& protocol : protocols_) {
    const EvaluationResult& result = cache.evaluate(protocol);
    append_metrics(result, metrics);
    keep(protocol, result, end);
  }
  add_metrics(cache, metrics);
  return metrics;
}

void ProtocolEvaluation::keep(const std::string& protocol, const EvaluationResult& result, const EpochEnd& end) {
  const EvaluationRecord record = with_evaluated(result.record, "last.safetensors", end.epoch, data_);
  const std::string name = EvaluationFiles::name_of(protocol, result);
  files_.write_history(name, record, end.epoch);
  files_.write(name, result, record, end.epoch == end.epochs ? Thumbnails::kReplace : Thumbnails::kKeep);
  for (const auto& note : result.notes) {
    if (said_.insert(note).second) log_.warn(note);
  }
}

void require_more_is_better(const std::string& select) {
  const std::vector<Metric> known = protocol_metrics();
  const auto found = std::ranges::find_if(known, [&](const Metric& metric) { return describes(metric, split_of(select).name); });
  if (found == known.end() || found->better == Better::kHigher) return;
  throw usage_error(
      "evaluate: select '{}': {}, and `best` is the epoch with the highest value; select an accuracy such as valid.worst_group_acc", select,
      found->better == Better::kNeither ? "neither higher nor lower values are better" : "lower values are better");
}

namespace {

void make_folder(const std::string& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) throw resource_error("creating '{}': {}; check the run folder, its permissions and the disk", path, failure.message());
}

}  // namespace

void EvaluationFiles::write(const std::string& protocol, const EvaluationResult& result, const EvaluationRecord& record,
                            Thumbnails thumbnails) const {
  make_folder(folder_);
  if (thumbnails == Thumbnails::kReplace && !result.images.empty())
    replace_thumbnails(path(result.record.examples.empty() ? "thumbnails" : "examples"), result.images);
  write_file_atomically(path(protocol) + ".json", to_json(record).dump(2) + "\n");
}

void EvaluationFiles::write_history(const std::string& protocol, const EvaluationRecord& record, int64_t epoch) const {
  const std::string folder = fmt::format("{}/epoch-{}", folder_, epoch);
  make_folder(folder);
  EvaluationRecord brief = record;
  brief.neighbours.clear();
  brief.maps.clear();
  brief.marks.clear();
  brief.examples.clear();
  write_file_atomically(fmt::format("{}/{}.json", folder, protocol), to_json(brief).dump(2) + "\n");
}

EvaluationRecord with_evaluated(EvaluationRecord record, const std::string& checkpoint, int64_t epoch, const EvaluatedData& data) {
  record.checkpoint = fs::path(checkpoint).filename().string();
  record.epoch = epoch;
  for (const auto& [split, set] : data.sets()) record.evaluated[split] = set->section.to_json();
  return record;
}

}  // namespace debias
