#include "debias/data/builders/data_make.h"

#include <filesystem>

#include "debias/core/paths.h"
#include "debias/core/registry.h"
#include "debias/data/builders/biased_mnist.h"
#include "debias/data/builders/corrupted_cifar10.h"
#include "debias/data/builders/garments_on_scenes.h"
#include "debias/data/builders/glyphs.h"
#include "debias/data/dataset_registry.h"

namespace debias {
namespace {

constexpr double kWithoutBias = 0.1;  // one in ten biases

// Options that about.json keeps: not the folder of the source, and not the split.
template <class Options>
nlohmann::ordered_json kept_options(const Options& options) {
  Config written = config_of(options);
  for (const char* key : {"root", "split"}) written.erase(key);
  return written.to_json();
}

template <class Options>
MadeParts parts_of(const Options& options, std::unique_ptr<Dataset> (*open)(const Options&)) {
  Options unbiased = options;
  unbiased.correlation = kWithoutBias;
  MadeParts parts;
  parts.train = open(options);
  unbiased.split = FolderSplit::kTest;
  parts.test = open(unbiased);
  if (options.hold_out.count == 0) return parts;
  unbiased.split = FolderSplit::kHeldOut;
  parts.valid = open(unbiased);
  return parts;
}

MadeCounts make_biased_mnist_folder(const Config& section, const std::string& out, Progress& progress) {
  const auto options = options_from<BiasedMnistOptions>(section, "data make biased_mnist", {"name"});
  if (is_made_folder(options.root)) {
    throw usage_error("data make biased_mnist: {} is a generated data set already; give the folder with MNIST's IDX files", options.root);
  }
  return write_made_folder(out, parts_of(options, make_biased_mnist), kept_options(options), progress);
}

MadeCounts make_glyphs_folder(const Config& section, const std::string& out, Progress& progress) {
  const auto options = options_from<GlyphsOptions>(section, "data make glyphs", {"name"});
  if (!options.root.empty()) throw usage_error("data make glyphs: glyphs are drawn, not read from {}; leave out root", options.root);
  return write_made_folder(out, parts_of(options, make_glyphs), kept_options(options), progress);
}

// `corruptions` may be a list, which is written as one text.
Config with_joined_corruptions(const Config& section) {
  const Config* list = section.find("corruptions");
  if (list == nullptr || !list->is_sequence()) return section;
  std::string joined;
  for (const Config& item : list->items()) {
    if (!item.is_scalar()) throw usage_error("{}corruptions: expected names", item.prefix());
    joined += (joined.empty() ? "" : ",") + item.text();
  }
  Config text = Config::string(joined);
  text.set_where(list->where());
  Config changed = section;
  changed.set("corruptions", std::move(text));
  return changed;
}

MadeCounts make_corrupted_cifar10_folder(const Config& section, const std::string& out, Progress& progress) {
  const auto recipe = options_from<CorruptedCifar10Recipe>(with_joined_corruptions(section), "data make corrupted_cifar10", {"name"});
  if (!recipe.ratios.empty() && section.find("correlation") != nullptr) {
    throw usage_error("{}data make corrupted_cifar10: ratios say how many images conflict, and so does correlation; leave one out",
                      section.find("correlation")->prefix());
  }
  nlohmann::ordered_json options = kept_options(recipe);
  options["frost"] = recipe.frost.empty() ? "procedural" : "files";
  options.erase("ratios");
  MadeCounts counts;
  if (recipe.ratios.empty()) {
    counts = write_made_folder(out, corrupted_cifar10_parts(recipe), options, progress);
  } else {
    std::vector<MadeShare> shares;
    for (const auto& [ratio, parts] : corrupted_cifar10_shares(recipe)) {
      options.erase("correlation");
      options["ratio"] = ratio;
      shares.push_back({ratio, parts, options});
    }
    counts = write_made_shares(out, shares, progress);
  }
  const bool uses_frost = recipe.corruptions == "type0" || recipe.corruptions.find("frost") != std::string::npos;
  if (uses_frost && recipe.frost.empty()) counts.remarks.push_back("frost is laid over from drawn textures, not the published ones");
  return counts;
}

MadeCounts make_garments_on_scenes_folder(const Config& section, const std::string& out, Progress& progress) {
  return make_garments_on_scenes(options_from<GarmentsOnScenesOptions>(section, "data make garments_on_scenes", {"name"}), out, progress);
}

}  // namespace

const std::vector<DataMakeEntry>& data_make_registry() {
  static const std::vector<DataMakeEntry> registry = {
      {"biased_mnist", {}, "from MNIST's IDX files", option_specs<BiasedMnistOptions>(), make_biased_mnist_folder},
      {"corrupted_cifar10", {}, "from CIFAR-10", option_specs<CorruptedCifar10Recipe>(), make_corrupted_cifar10_folder},
      {"garments_on_scenes",
       {},
       "from Fashion-MNIST and photographs in class folders",
       option_specs<GarmentsOnScenesOptions>(),
       make_garments_on_scenes_folder},
      {"glyphs", {}, "drawn", option_specs<GlyphsOptions>(), make_glyphs_folder},
  };
  return registry;
}

MadeCounts make_data_folder(const Config& section, const std::string& out, Progress& progress) {
  const DataMakeEntry& entry = named_entry(data_make_registry(), section, "data set to make");
  const std::string what = "data make " + entry.name;
  if (const Config* split = section.find("split")) {
    throw usage_error("{}{}: all splits are written; leave out split", split->prefix(), what);
  }
  refuse_inside_data(out, roots_of(section));
  std::error_code failure;
  if (std::filesystem::exists(std::filesystem::symlink_status(out, failure))) {  // before the source is read; checked again on writing
    throw usage_error("{}: '{}' exists already; choose another folder, or remove it first", what, out);
  }
  return entry.make(section, out, progress);
}

}  // namespace debias
