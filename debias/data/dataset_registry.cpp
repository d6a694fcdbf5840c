#include "debias/data/dataset_registry.h"

#include <algorithm>

#include "debias/core/option_mistakes.h"
#include "debias/core/recipe_keys.h"
#include "debias/core/registry.h"
#include "debias/data/builders/biased_mnist.h"
#include "debias/data/builders/corrupted_cifar10.h"
#include "debias/data/builders/glyphs.h"
#include "debias/data/readers/bffhq.h"
#include "debias/data/readers/cifar.h"
#include "debias/data/readers/image_folder.h"
#include "debias/data/readers/mnist.h"
#include "debias/data/readers/sentences.h"
#include "debias/data/readers/stl10.h"
#include "debias/text/sentence_store.h"

namespace debias {
namespace {

template <class Options>
DatasetEntry dataset_entry(const std::string& name, const std::string& summary,
                           const std::function<std::unique_ptr<SampleTable>(const Options&)>& make) {
  const auto read = [](const DatasetEntry& entry, const Config& section) {
    const auto options = read_options<Options>(section, fmt::format("data set '{}'", entry.name), {"name"});
    ChosenData chosen{&entry, section, options, options.root};
    if constexpr (requires { options.labels; }) chosen.label_file = options.labels.file;
    if constexpr (requires { options.vocabulary; }) chosen.label_file = options.vocabulary;
    return chosen;
  };
  const auto make_any = [make](const std::any& options) { return make(std::any_cast<const Options&>(options)); };
  return {name, {}, summary, option_specs<Options>(), read, make_any};
}

DatasetEntry of_sentences(DatasetEntry entry) {
  entry.samples = SampleKind::kSentences;
  return entry;
}

DatasetEntry with(bool DatasetEntry::*property, DatasetEntry entry) {
  entry.*property = true;
  return entry;
}

DatasetEntry with_biases_as_classes(DatasetEntry entry) { return with(&DatasetEntry::numbers_biases_as_classes, std::move(entry)); }

}  // namespace

const std::vector<DatasetEntry>& dataset_registry() {
  static const std::vector<DatasetEntry> registry = {
      with_biases_as_classes(dataset_entry<GlyphsOptions>(
          "glyphs", "ten classes of synthetic shapes on biased background colours; generated, without files", make_glyphs)),
      dataset_entry<MnistOptions>("mnist", "handwritten digits, 28x28 grey; IDX files, plain or .gz", make_mnist),
      with_biases_as_classes(dataset_entry<BiasedMnistOptions>(
          "biased_mnist", "MNIST on background colours correlated with the digit; IDX files, or a folder of debias data make",
          make_biased_mnist)),
      dataset_entry<CifarOptions>("cifar10", "ten classes, 32x32 RGB; binary version, or train/<class> and test/<class> folders of images",
                                  make_cifar10),
      dataset_entry<CifarOptions>("cifar100", "a hundred classes (fine labels), 32x32 RGB; binary version", make_cifar100),
      with_biases_as_classes(dataset_entry<CorruptedCifar10Options>(
          "corrupted_cifar10",
          "CIFAR-10 under corruptions correlated with the class; a folder of debias data make, or the published archive",
          make_corrupted_cifar10)),
      dataset_entry<Stl10Options>("stl10", "ten classes, 96x96 RGB, and 100,000 unlabelled images; binary version", make_stl10),
      with_biases_as_classes(dataset_entry<BffhqOptions>(
          "bffhq", "faces with age as the class and gender as the bias; folders 0.5pct, valid and test", make_bffhq)),
      with(&DatasetEntry::is_any_folder,
           dataset_entry<ImageFolderOptions>("image_folder", "image files in one folder per class, or with a CSV of labels and biases",
                                             make_image_folder)),
      of_sentences(dataset_entry<SentencesOptions>(
          "sentences", "sentences of books in their order, for method quick_thoughts; text files and a vocabulary",
          [](const SentencesOptions& options) { return std::make_unique<Sentences>(options); })),
  };
  return registry;
}

const DatasetEntry* find_dataset(std::string_view name) {
  const auto found = std::ranges::find(dataset_registry(), name, &DatasetEntry::name);
  return found == dataset_registry().end() ? nullptr : &*found;
}

bool data_set_is(std::string_view name, bool DatasetEntry::*property) {
  const DatasetEntry* entry = find_dataset(name);
  return entry != nullptr && entry->*property;
}

ChosenData read_data(const Config& section) {
  const DatasetEntry& entry = named_entry(dataset_registry(), section, "data set");
  return entry.read(entry, section_map(section));
}

Config ChosenData::resolved() const {
  Config all = with_defaults(section, entry->options);
  if (follows_seed) all.set("seed", Config::scalar(std::string(kSeedOfRun)));
  return all;
}

ChosenData ChosenData::with(const Config& changes) const {
  Config changed = section;
  for (const auto& [key, value] : changes.entries()) changed.set(key, value);
  ChosenData chosen = read_data(changed);
  chosen.follows_seed = follows_seed;
  return chosen;
}

ChosenData ChosenData::with_missing(const Config& more) const {
  Config missing = Config::map();
  for (const auto& [key, value] : more.entries()) {
    if (section.find(key) == nullptr) missing.set(key, value);
  }
  return with(missing);
}

std::unique_ptr<SampleTable> ChosenData::make() const { return entry->make(options); }

std::unique_ptr<const Dataset> ChosenData::make_images() const {
  if (entry->samples != SampleKind::kImages)
    throw usage_error("{}data set '{}' has no images; choose another one", section.prefix(), entry->name);
  return std::unique_ptr<const Dataset>(make().release()->images());
}

namespace {

struct NamedFolder {
  std::string path;
  bool is_corpus = false;

  bool operator==(const NamedFolder&) const = default;
};

bool is_corpus(const Config& section) {
  const Config* name = section.find("name");
  const DatasetEntry* entry = name != nullptr && name->is_scalar() ? find_dataset(name->text()) : nullptr;
  return entry != nullptr && entry->samples == SampleKind::kSentences;
}

// Each once.
std::vector<NamedFolder> folders_named_in(const std::vector<Config>& sections) {
  std::vector<NamedFolder> folders;
  for (const auto& section : sections) {
    for (const char* key : {"root", "frost", "scenes"}) {
      const Config* root = section.find(key);
      if (root == nullptr || !root->is_scalar() || root->text().empty()) continue;
      const NamedFolder folder = {root->text(), is_corpus(section)};
      if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
    }
  }
  return folders;
}

}  // namespace

std::vector<std::string> roots_of(const Config& section) { return roots_of(std::vector<Config>{section}); }

std::vector<std::string> roots_of(const std::vector<Config>& sections) {
  std::vector<std::string> roots;
  for (const auto& folder : folders_named_in(sections)) {
    const std::vector<std::string> all = folder.is_corpus ? text_folders(folder.path) : std::vector{folder.path};
    roots.insert(roots.end(), all.begin(), all.end());
  }
  return roots;
}

}  // namespace debias
