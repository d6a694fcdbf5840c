#include "debias/data/builders/made_folder.h"

#include <algorithm>
#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/data/parallel_blocks.h"
#include "debias/image/image_encode.h"

namespace debias {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kAbout = "about.json";
constexpr int64_t kLargestAbout = 1 << 20;  // bytes
constexpr int64_t kBlock = 64;              // images a thread takes at once

struct Part {
  std::string split;
  const Dataset* images = nullptr;
  std::string share = {};  // that train and valid are below

  std::string name() const { return share.empty() ? split : share + "/" + split; }
};

std::string folder_of(const Part& part, int64_t label, int64_t bias) {
  const std::string first = part.split == "train" ? (label == bias ? "align" : "conflict") : part.split;
  return (part.share.empty() ? "" : part.share + "/") + first + "/" + std::to_string(label);
}

void make_folders(const fs::path& root, const Part& part) {
  const auto classes = static_cast<int64_t>(part.images->info().class_names.size());
  for (int64_t label = 0; label < classes; ++label) {
    for (int64_t bias : {label, label + 1}) {
      const fs::path folder = root / folder_of(part, label, bias);
      std::error_code failure;
      fs::create_directories(folder, failure);
      if (failure) throw resource_error("writing '{}' failed: {}; check the folder and the disk", folder.string(), failure.message());
    }
  }
}

void write_image(const fs::path& root, const Part& part, int64_t index) {
  const Sample sample = part.images->get(index);
  if (sample.label < 0 || sample.bias < 0) {
    throw data_error("data make: image {} has no label or no bias", part.images->source(index));
  }
  const std::string name = fmt::format("{}_{}_{}.png", sample.id, sample.label, sample.bias);
  write_into_folder((root / folder_of(part, sample.label, sample.bias) / name).string(), encode_png(sample.image));
}

void write_images(const fs::path& root, const Part& part, int64_t done, Progress& progress) {
  const auto write_block = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) write_image(root, part, i);
  };
  for_each_block(part.images->size(), kBlock, write_block, [&](int64_t images) { progress.advance(done + images, ""); });
}

MadeCounts::Part count_of(const Part& part) {
  MadeCounts::Part count{part.name(), 0, 0};
  for (int64_t i = 0; i < part.images->size(); ++i) {
    ++(part.images->label(i) == part.images->bias(i) ? count.aligned : count.conflicting);
  }
  return count;
}

Json about_json(const DatasetInfo& info, const Json& options) {
  return {{"name", info.name},
          {"options", options},
          {"shape", {info.height, info.width, info.channels}},
          {"classes", info.class_names},
          {"biases", info.bias_names}};
}

bool is_extent(const Json& value) {
  constexpr uint64_t kLongestSide = 1 << 20;
  return value.is_number_unsigned() && value.get<uint64_t>() <= kLongestSide;
}

void read_about(const std::string& path, DatasetInfo& info) {
  const std::vector<uint8_t> bytes = read_file_bytes(path, kLargestAbout);
  const Json about = Json::parse(bytes, nullptr, false);
  const auto fail = [&](const std::string& reason) { throw FileError(path, reason); };
  if (about.is_discarded() || !about.is_object()) fail("is not a JSON object; make the folder again");
  try {
    const auto name = about.at("name").get<std::string>();
    if (name != info.name) fail(fmt::format("the folder has data set '{}', not '{}'", name, info.name));
    const Json& shape = about.at("shape");
    if (!shape.is_array() || shape.size() != 3 || !std::all_of(shape.begin(), shape.end(), is_extent)) {
      fail("shape: expected [height, width, channels]");
    }
    info.height = shape[0].get<int>();
    info.width = shape[1].get<int>();
    info.class_names = about.at("classes").get<std::vector<std::string>>();
    info.bias_names = about.at("biases").get<std::vector<std::string>>();
  } catch (const Json::exception& error) {
    fail(fmt::format("does not describe a generated data set ({}); make it again", error.what()));
  }
}

}  // namespace

MadeCounts write_made_folder(const std::string& out, const MadeParts& made, const Json& options, Progress& progress) {
  return write_made_shares(out, {{"", made, options}}, progress);
}

MadeCounts write_made_shares(const std::string& out, const std::vector<MadeShare>& shares, Progress& progress) {
  std::vector<Part> parts;
  for (const auto& [share, made, options] : shares) {
    parts.push_back({"train", made.train.get(), share});
    if (made.valid) parts.push_back({"valid", made.valid.get(), share});
  }
  const MadeParts& first = shares.front().parts;
  parts.push_back({"test", first.test.get()});
  AtomicFolder folder(out);
  const fs::path root = folder.building();
  int64_t total = 0;
  for (const Part& part : parts) total += part.images->size();
  progress.begin("making " + first.train->info().name, total);
  MadeCounts counts;
  int64_t done = 0;
  for (const Part& part : parts) {
    make_folders(root, part);
    write_images(root, part, done, progress);
    done += part.images->size();
    counts.parts.push_back(count_of(part));
  }
  for (const auto& [share, made, options] : shares) {
    write_file_atomically((root / share / kAbout).string(), about_json(made.train->info(), options).dump(2) + "\n");
  }
  progress.end();
  folder.commit();
  return counts;
}

bool is_made_folder(const std::string& root) {
  if (root.empty()) return false;
  std::error_code failure;
  const fs::path path = root;
  return fs::exists(path / kAbout, failure) || fs::is_directory(path / "align", failure) || fs::is_directory(path / "conflict", failure);
}

void apply_about(const std::string& root, DatasetInfo& info) {
  const std::string about = (fs::path(root) / kAbout).string();
  std::error_code failure;
  if (fs::exists(about, failure)) read_about(about, info);
}

std::unique_ptr<Dataset> read_made_folder(DatasetInfo info, const std::string& root, FolderSplit split, const HoldOutOptions& hold_out) {
  apply_about(root, info);
  return read_named_images(std::move(info), root, SplitFolders(), split, hold_out);
}

}  // namespace debias
