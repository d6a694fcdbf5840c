#include "debias/data/readers/bffhq.h"

#include <filesystem>

#include "debias/core/error.h"
#include "debias/data/dataset.h"

namespace debias {
namespace {

std::unique_ptr<Dataset> conflicting_only(std::unique_ptr<Dataset> test, const std::string& root) {
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < test->size(); ++i) {
    if (test->label(i) != test->bias(i)) kept.push_back(i);
  }
  if (kept.empty()) {
    throw FileError((std::filesystem::path(root) / "test").string(), "data set 'bffhq': no image whose target and bias differ");
  }
  return std::make_unique<Subset>(std::move(test), std::move(kept), "test");
}

}  // namespace

std::unique_ptr<Dataset> make_bffhq(const BffhqOptions& options) {
  DatasetInfo info;
  info.name = "bffhq";
  info.class_names = {"young", "old"};
  info.bias_names = {"woman", "man"};
  info.mean = {0.4914, 0.4822, 0.4465};
  info.std = {0.2023, 0.1994, 0.2010};
  SplitFolders folders;
  folders.train = {"0.5pct/align", "0.5pct/conflict"};
  auto images = read_named_images(std::move(info), options.root, folders, options.split, options.hold_out);
  return options.split == FolderSplit::kTest ? conflicting_only(std::move(images), options.root) : std::move(images);
}

}  // namespace debias
