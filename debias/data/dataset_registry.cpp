#include "debias/data/dataset_registry.h"

#include <algorithm>

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

namespace debias {

const std::vector<DatasetEntry>& dataset_registry() {
  static const std::vector<DatasetEntry> registry = {
      {"glyphs",
       {},
       "ten classes of synthetic shapes on biased background colours; generated, without files",
       GlyphsOptions::table().specs(),
       glyphs_from_config,
       SampleKind::kImages,
       true},
      {"mnist", {}, "handwritten digits, 28x28 grey; IDX files, plain or .gz", MnistOptions::table().specs(), mnist_from_config},
      {"biased_mnist",
       {},
       "MNIST on background colours correlated with the digit; IDX files, or a folder of debias data make",
       BiasedMnistOptions::table().specs(),
       biased_mnist_from_config,
       SampleKind::kImages,
       true},
      {"cifar10",
       {},
       "ten classes, 32x32 RGB; binary version, or train/<class> and test/<class> folders of images",
       CifarOptions::table().specs(),
       cifar10_from_config},
      {"cifar100", {}, "a hundred classes (fine labels), 32x32 RGB; binary version", CifarOptions::table().specs(), cifar100_from_config},
      {"corrupted_cifar10",
       {},
       "CIFAR-10 under corruptions correlated with the class; a folder of debias data make, or the published archive",
       CorruptedCifar10Options::table().specs(),
       corrupted_cifar10_from_config,
       SampleKind::kImages,
       true},
      {"stl10",
       {},
       "ten classes, 96x96 RGB, and 100,000 unlabelled images; binary version",
       Stl10Options::table().specs(),
       stl10_from_config},
      {"bffhq",
       {},
       "faces with age as the class and gender as the bias; folders 0.5pct, valid and test",
       BffhqOptions::table().specs(),
       bffhq_from_config,
       SampleKind::kImages,
       true},
      {"image_folder",
       {},
       "image files in one folder per class, or with a CSV of labels and biases",
       ImageFolderOptions::table().specs(),
       image_folder_from_config},
      {"sentences",
       {},
       "sentences of books in their order, for method quick_thoughts; text files and a vocabulary",
       SentencesOptions::table().specs(),
       sentences_from_config,
       SampleKind::kSentences},
  };
  return registry;
}

const DatasetEntry* find_dataset(std::string_view name) {
  const auto found = std::ranges::find(dataset_registry(), name, &DatasetEntry::name);
  return found == dataset_registry().end() ? nullptr : &*found;
}

std::unique_ptr<SampleTable> make_samples(const Config& section) {
  return named_entry(dataset_registry(), section, "data set").make(section_map(section));
}

std::unique_ptr<const Dataset> make_dataset(const Config& section) {
  const auto& entry = named_entry(dataset_registry(), section, "data set");
  if (entry.samples != SampleKind::kImages)
    throw usage_error("{}data set '{}' has no images; choose another one", section.prefix(), entry.name);
  return std::unique_ptr<const Dataset>(entry.make(section_map(section)).release()->images());
}

}  // namespace debias
