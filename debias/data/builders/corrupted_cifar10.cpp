#include "debias/data/builders/corrupted_cifar10.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/registry.h"
#include "debias/data/builders/corruptions/corruption.h"
#include "debias/data/data_stream.h"
#include "debias/data/dataset.h"
#include "debias/data/readers/cifar.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCifarClasses = 10;
constexpr double kTestCorrelation = 0.1;

// The two lists of Nam et al.
const std::vector<std::string> kType0 = {"snow",    "frost",   "fog",  "brightness", "contrast",
                                         "spatter", "elastic", "jpeg", "pixelate",   "saturate"};
const std::vector<std::string> kType1 = {"gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "gaussian_blur",
                                         "defocus_blur",   "glass_blur", "motion_blur",   "zoom_blur",     "original"};

DatasetInfo info_of(const std::vector<std::string>& corruptions) {
  DatasetInfo info;
  info.name = "corrupted_cifar10";
  info.class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  info.bias_names = corruptions;
  info.height = info.width = kCorruptionSide;
  info.mean = {0.4914, 0.4822, 0.4465};
  info.std = {0.2023, 0.1994, 0.2010};
  return info;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> names = {""};
  for (const char c : text) {
    if (c == ',') {
      names.emplace_back();
    } else if (c != ' ') {
      names.back() += c;
    }
  }
  return names;
}

std::vector<const Corruption*> corruptions_of(const std::string& text) {
  const std::vector<std::string> names = text == "type0" ? kType0 : text == "type1" ? kType1 : split_at_commas(text);
  if (names.size() == 1) {
    throw usage_error("corruptions: expected type0, type1 or a list of ten, found '{}'{}", text, suggestion(text, {"type0", "type1"}));
  }
  std::vector<const Corruption*> list;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    list.push_back(&find_entry(corruption_registry(), name, "corruption"));
    if (!seen.insert(list.back()->name).second) throw usage_error("corruptions: {} is given twice", name);
  }
  if (list.size() != kCifarClasses) throw usage_error("corruptions: expected ten, one a class, found {}", list.size());
  return list;
}

class CorruptedImages : public Dataset {
 public:
  CorruptedImages(std::unique_ptr<Dataset> source, double correlation, const CorruptedCifar10Recipe& recipe,
                  std::vector<const Corruption*> corruptions, std::shared_ptr<const FrostTextures> frost)
      : source_(std::move(source)), corruptions_(std::move(corruptions)), frost_(std::move(frost)), severity_(recipe.severity) {
    std::vector<std::string> names;
    for (const Corruption* corruption : corruptions_) names.push_back(corruption->name);
    info_ = info_of(names);
    info_.split = source_->info().split;
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < source_->size(); ++i) labels.push_back(source_->label(i));
    biases_ = ordered_biases(labels, correlation);
    key_.domain = RngDomain::kData;
    key_.seed = static_cast<uint64_t>(recipe.seed);
    key_.epoch = info_.split == "test" ? 1 : 0;
    key_.step = static_cast<uint16_t>(DataStream::kCorruption);
  }

  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return source_->size(); }
  int64_t id(int64_t index) const override { return source_->id(index); }
  int64_t label(int64_t index) const override { return source_->label(index); }
  int64_t bias(int64_t index) const override {
    require_index(*this, index);
    return biases_[static_cast<size_t>(index)];
  }
  std::string source(int64_t index) const override { return source_->source(index); }

  Sample get(int64_t index) const override {
    Sample sample = source_->get(index);
    sample.bias = bias(index);
    RngKey key = key_;
    key.sample = static_cast<uint64_t>(sample.id);
    Random random(key);
    sample.image = corrupted(sample.image, *corruptions_[static_cast<size_t>(sample.bias)], static_cast<int>(severity_), random, *frost_);
    return sample;
  }

 private:
  std::unique_ptr<Dataset> source_;
  std::vector<const Corruption*> corruptions_;
  std::shared_ptr<const FrostTextures> frost_;
  int64_t severity_;
  std::vector<int64_t> biases_;
  RngKey key_;
  DatasetInfo info_;
};

// 0.05 of "5pct".
double conflicting_share(const std::string& ratio) {
  constexpr std::array<std::pair<ConflictRatio, double>, 4> kShares = {
      {{ConflictRatio::k05, 0.005}, {ConflictRatio::k1, 0.01}, {ConflictRatio::k2, 0.02}, {ConflictRatio::k5, 0.05}}};
  std::vector<std::string> known;
  for (const auto& [name, share] : kShares) {
    known.emplace_back(enum_name(name));
    if (known.back() == ratio) return share;
  }
  throw usage_error("data make corrupted_cifar10: ratios: unknown share '{}'{}", ratio, suggestion(ratio, known));
}

bool has_ratio_folder(const std::string& root) {
  for (const auto& [name, ratio] : EnumNames<ConflictRatio>::values) {
    std::error_code failure;
    if (ratio != ConflictRatio::kMade && fs::is_directory(fs::path(root) / name, failure)) return true;
  }
  return false;
}

}  // namespace

std::vector<int64_t> ordered_biases(const std::vector<int64_t>& labels, double correlation) {
  std::vector<std::vector<size_t>> members(kCifarClasses);
  for (size_t i = 0; i < labels.size(); ++i) members[static_cast<size_t>(labels[i])].push_back(i);
  std::vector<int64_t> biases(labels.size());
  for (int64_t own = 0; own < kCifarClasses; ++own) {
    const auto& images = members[static_cast<size_t>(own)];
    const auto count = static_cast<double>(images.size());
    double share = 0;
    size_t next = 0;
    for (int64_t bias = 0; bias < kCifarClasses; ++bias) {
      share += bias == own ? correlation : (1 - correlation) / (kCifarClasses - 1);
      const auto end = bias + 1 == kCifarClasses ? images.size() : static_cast<size_t>(std::nearbyint(count * share));
      for (; next < std::min(end, images.size()); ++next) biases[images[next]] = bias;
    }
  }
  return biases;
}

MadeParts corrupted_cifar10_parts(const CorruptedCifar10Recipe& recipe) {
  check_options(recipe, "data make corrupted_cifar10");
  const std::vector<const Corruption*> corruptions = corruptions_of(recipe.corruptions);
  const auto frost =
      std::make_shared<const FrostTextures>(recipe.frost.empty() ? procedural_frost_textures() : read_frost_textures(recipe.frost));
  const auto damaged = [&](std::unique_ptr<Dataset> source, double correlation) {
    return std::make_shared<CorruptedImages>(std::move(source), correlation, recipe, corruptions, frost);
  };
  CifarOptions cifar;
  cifar.root = recipe.root;
  const std::shared_ptr<const Dataset> train = make_cifar10(cifar);
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < train->size(); ++i) labels.push_back(train->label(i));
  const auto held = static_cast<int64_t>(std::nearbyint(static_cast<double>(labels.size()) * recipe.valid_fraction));
  HoldOutParts parts = partition_hold_out(labels, held, static_cast<uint64_t>(recipe.seed));
  MadeParts made;
  made.train = damaged(std::make_unique<Subset>(train, std::move(parts.kept), "train"), recipe.correlation);
  if (held > 0) made.valid = damaged(std::make_unique<Subset>(train, std::move(parts.held_out), "valid"), recipe.correlation);
  cifar.split = Split::kTest;
  made.test = damaged(make_cifar10(cifar), kTestCorrelation);
  return made;
}

std::vector<std::pair<std::string, MadeParts>> corrupted_cifar10_shares(const CorruptedCifar10Recipe& recipe) {
  std::vector<std::pair<std::string, MadeParts>> shares;
  std::set<std::string> seen;
  for (const auto& ratio : recipe.ratios) {
    if (!seen.insert(ratio).second) throw usage_error("data make corrupted_cifar10: ratios: {} is given twice", ratio);
    CorruptedCifar10Recipe own = recipe;
    own.correlation = 1 - conflicting_share(ratio);
    shares.emplace_back(ratio, corrupted_cifar10_parts(own));
  }
  return shares;
}

std::unique_ptr<Dataset> make_corrupted_cifar10(const CorruptedCifar10Options& options) {
  DatasetInfo info = info_of(kType0);
  if (options.ratio == ConflictRatio::kMade) {
    require_root(options.root, "data set 'corrupted_cifar10'", "align, conflict and test, or 0.5pct, 1pct, 2pct and 5pct");
    if (!is_made_folder(options.root) && has_ratio_folder(options.root)) {
      throw usage_error(
          "data set 'corrupted_cifar10': {} has several shares of conflicting images; write ratio: 0.5pct, 1pct, 2pct or 5pct",
          options.root);
    }
    return read_made_folder(std::move(info), options.root, options.split, options.hold_out);
  }
  const std::string share(enum_name(options.ratio));
  SplitFolders folders;
  folders.train = {share + "/align", share + "/conflict"};
  folders.valid = {share + "/valid"};
  apply_about(options.root + "/" + share, info);
  return read_named_images(std::move(info), options.root, folders, options.split, options.hold_out);
}

}  // namespace debias
