#include "debias/data/readers/stl10.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/dataset.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr int kStlSide = 96;
constexpr int64_t kStlPlane = kStlSide * kStlSide;
constexpr int64_t kRecord = 3 * kStlPlane;
constexpr int64_t kStlClasses = 10;

// One file of images, read record by record from any thread.
class RecordFile {
 public:
  explicit RecordFile(std::string path)
      : path_(std::move(path)), file_(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // O_NONBLOCK: a pipe must not hang
    if (file_.value() < 0) throw FileError(path_, fmt::format("cannot be opened: {}", std::strerror(errno)));
    count_ = counted();
  }

  int64_t count() const { return count_; }
  std::string name() const { return fs::path(path_).filename().string(); }

  std::vector<uint8_t> read(int64_t record) const {
    std::vector<uint8_t> bytes(static_cast<size_t>(kRecord));
    int64_t filled = 0;
    while (filled < kRecord) {
      const ssize_t got = pread(file_.value(), bytes.data() + filled, static_cast<size_t>(kRecord - filled), record * kRecord + filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw FileError(path_, fmt::format("cannot be read: {}", std::strerror(errno)));
      if (got == 0) throw FileError(path_, fmt::format("ends within record {}, though it had {} when it was opened", record, count_));
      filled += got;
    }
    return bytes;
  }

 private:
  int64_t counted() const {
    struct stat status {};
    if (fstat(file_.value(), &status) != 0) throw FileError(path_, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (!S_ISREG(status.st_mode)) throw FileError(path_, "is not a regular file");
    if (status.st_size == 0) throw FileError(path_, "is empty");
    if (status.st_size % kRecord != 0) {
      throw FileError(path_, fmt::format("{} bytes are not a whole number of images of {} bytes", status.st_size, kRecord));
    }
    return status.st_size / kRecord;
  }

  std::string path_;
  Descriptor file_;
  int64_t count_ = 0;
};

Image upright(const std::vector<uint8_t>& columns) {
  Image image;
  image.height = image.width = kStlSide;
  image.pixels.resize(static_cast<size_t>(kRecord));
  uint8_t* out = image.pixels.data();
  for (int y = 0; y < kStlSide; ++y) {
    for (int x = 0; x < kStlSide; ++x) {
      for (int c = 0; c < 3; ++c) *out++ = columns[static_cast<size_t>(c * kStlPlane + x * kStlSide + y)];
    }
  }
  return image;
}

std::vector<int64_t> read_labels(const std::string& path, int64_t images) {
  const std::vector<uint8_t> bytes = read_file_bytes(path, 1 << 24);
  if (static_cast<int64_t>(bytes.size()) != images) throw FileError(path, fmt::format("{} labels for {} images", bytes.size(), images));
  std::vector<int64_t> labels;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] < 1 || bytes[i] > kStlClasses) throw FileError(path, fmt::format("record {}: label {}, expected 1 to 10", i, bytes[i]));
    labels.push_back(bytes[i] - 1);
  }
  return labels;
}

class Stl10 : public Dataset {
 public:
  explicit Stl10(std::string_view split) {
    info_.name = "stl10";
    info_.split = split;
    info_.class_names = {"airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck"};
    info_.height = info_.width = kStlSide;
    info_.mean = {0.4914, 0.4822, 0.4465};  // CIFAR-10's: what the published runs on STL-10 used
    info_.std = {0.2023, 0.1994, 0.2010};
  }

  void add(const fs::path& folder, const std::string& part) {
    files_.push_back(std::make_unique<RecordFile>((folder / (part + "_X.bin")).string()));
    const int64_t count = files_.back()->count();
    if (part == "unlabeled") {
      labels_.insert(labels_.end(), static_cast<size_t>(count), kUnknown);
    } else {
      const std::vector<int64_t> labels = read_labels((folder / (part + "_y.bin")).string(), count);
      labels_.insert(labels_.end(), labels.begin(), labels.end());
    }
  }
  void forget_classes() { info_.class_names.clear(); }

  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  int64_t label(int64_t index) const override {
    require_index(*this, index);
    return labels_[static_cast<size_t>(index)];
  }
  Sample get(int64_t index) const override {
    const auto [file, record] = place(index);
    return {upright(file->read(record)), index, label(index), kUnknown};
  }
  std::string source(int64_t index) const override {
    const auto [file, record] = place(index);
    return fmt::format("{} record {}", file->name(), record);
  }

 private:
  std::pair<const RecordFile*, int64_t> place(int64_t index) const {
    require_index(*this, index);
    auto file = files_.begin();
    while (index >= (*file)->count()) index -= (*file++)->count();
    return {file->get(), index};
  }

  std::vector<std::unique_ptr<RecordFile>> files_;
  std::vector<int64_t> labels_;
  DatasetInfo info_;
};

std::vector<std::string> parts_of(StlSplit split) {
  if (split == StlSplit::kTest) return {"test"};
  if (split == StlSplit::kUnlabeled) return {"unlabeled"};
  if (split == StlSplit::kTrainAndUnlabeled) return {"train", "unlabeled"};
  return {"train"};
}

fs::path folder_of(const std::string& root, const std::vector<std::string>& parts) {
  std::vector<std::string> files;
  for (const std::string& part : parts) {
    files.push_back(part + "_X.bin");
    if (part != "unlabeled") files.push_back(part + "_y.bin");
  }
  require_root(root, "data set 'stl10'", fmt::format("{}", fmt::join(files, ", ")));
  for (const fs::path& folder : {fs::path(root), fs::path(root) / "stl10_binary"}) {
    std::error_code failure;
    if (fs::exists(folder / files.front(), failure)) return folder;
  }
  throw FileError(root, fmt::format("data set 'stl10': found no {} in it or in its folder stl10_binary", fmt::join(files, ", ")));
}

// Train without the held-out images, then everything unlabelled.
std::unique_ptr<Dataset> with_part_held_out(std::unique_ptr<Dataset> both, const Stl10Options& options) {
  if (options.hold_out.count == 0) return both;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < both->size() && both->label(i) != kUnknown; ++i) labels.push_back(both->label(i));
  std::vector<int64_t> kept = partition_hold_out(labels, options.hold_out.count, static_cast<uint64_t>(options.hold_out.seed)).kept;
  for (auto i = static_cast<int64_t>(labels.size()); i < both->size(); ++i) kept.push_back(i);
  const std::string split = both->info().split;
  return std::make_unique<Subset>(std::move(both), std::move(kept), split);
}

}  // namespace

std::unique_ptr<Dataset> make_stl10(const Stl10Options& options) {
  const StlSplit split = options.split;
  const std::vector<std::string> parts = parts_of(split);
  const fs::path folder = folder_of(options.root, parts);
  auto images = std::make_unique<Stl10>(enum_name(split == StlSplit::kHeldOut ? StlSplit::kTrain : split));
  for (const std::string& part : parts) images->add(folder, part);
  if (split == StlSplit::kUnlabeled) images->forget_classes();
  if (split == StlSplit::kTrainAndUnlabeled) return with_part_held_out(std::move(images), options);
  if (split == StlSplit::kTrain) return take_hold_out_part(std::move(images), options.hold_out, HoldOutPart::kKept);
  if (split == StlSplit::kHeldOut) return take_hold_out_part(std::move(images), options.hold_out, HoldOutPart::kHeldOut);
  return images;
}

}  // namespace debias
