// The about.json of folders that data make wrote.
#include "debias/data/builders/made_folder.h"

#include "debias/image/image_encode.h"
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  static fuzz::MemoryFolder folder({"about.json", "align/1/4_1_1.png"});
  static const bool prepared = [] {
    folder.hold(1, encode_png({2, 2, 3, std::vector<uint8_t>(12, 9)}));
    return true;
  }();
  fuzz::require(prepared, "the image is in its folder");
  folder.hold(0, {data, size});
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    DatasetInfo info;
    info.name = "glyphs";
    info.class_names = info.bias_names = {"a", "b"};
    const auto made = read_made_folder(info, folder.path(), FolderSplit::kTrain, HoldOutOptions());
    fuzz::require(made->size() == 1 && made->label(0) == 1, "the image is read");
    fuzz::require(made->info().class_names.size() > 1 && made->info().bias_names.size() > 1, "label and bias have names");
    made->get(0);
  });
  return 0;
}
