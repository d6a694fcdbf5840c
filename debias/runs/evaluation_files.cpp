#include "debias/runs/evaluation_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/runs/thumbnail_folder.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

void make_folder(const std::string& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) throw resource_error("creating '{}': {}; check the run folder, its permissions and the disk", path, failure.message());
}

}  // namespace

void EvaluationFiles::write(const std::string& protocol, const EvaluationResult& result, const EvaluationRecord& record,
                            Thumbnails thumbnails) const {
  make_folder(folder_);
  if (thumbnails == Thumbnails::kReplace && !result.images.empty()) replace_thumbnails(path("thumbnails"), result.images);
  write_file_atomically(path(protocol) + ".json", to_json(record).dump(2) + "\n");
}

void EvaluationFiles::write_history(const std::string& protocol, const EvaluationRecord& record, int64_t epoch) const {
  const std::string folder = fmt::format("{}/epoch-{}", folder_, epoch);
  make_folder(folder);
  EvaluationRecord brief = record;
  brief.neighbours.clear();
  brief.maps.clear();
  brief.marks.clear();
  write_file_atomically(fmt::format("{}/{}.json", folder, protocol), to_json(brief).dump(2) + "\n");
}

EvaluationRecord with_evaluated(EvaluationRecord record, const std::string& checkpoint, int64_t epoch, const EvaluatedData& data) {
  record.checkpoint = fs::path(checkpoint).filename().string();
  record.epoch = epoch;
  for (const auto& [split, set] : data.sets()) record.evaluated[split] = set->section.to_json();
  return record;
}

}  // namespace debias
