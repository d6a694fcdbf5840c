// STL-10. An input is the split (one byte), the length of the images' file (three bytes), that of the labels' file (one byte), what the
// images' file repeats, in half of the rest, and what the labels' file repeats.
#include "debias/data/readers/stl10.h"

#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  constexpr uint32_t kLongest = 90'000;  // bytes: three images and a part of one
  static fuzz::MemoryFolder folder({"train_X.bin", "train_y.bin", "unlabeled_X.bin"});
  fuzz::Bytes rest(data, size);
  constexpr StlSplit kSplits[] = {StlSplit::kTrain, StlSplit::kUnlabeled, StlSplit::kTrainAndUnlabeled};
  const StlSplit split = kSplits[fuzz::take_number(rest, 1) % 3];
  const uint32_t length = fuzz::take_number(rest, 3) % kLongest;
  const uint32_t labels = fuzz::take_number(rest, 1);
  const std::vector<uint8_t> images = fuzz::repeated(fuzz::take(rest, rest.size() / 2), length);
  folder.hold(0, images);
  folder.hold(1, fuzz::repeated(rest, labels));
  folder.hold(2, images);
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    const auto stl = make_stl10(Stl10Options{.root = folder.path(), .split = split});
    for (int64_t i = 0; i < stl->size(); ++i) {
      const Sample sample = stl->get(i);
      fuzz::require(sample.label >= kUnknown && sample.label < 10, "a label is a class or unknown");
      fuzz::require(sample.image.pixels.size() == size_t{3} * 96 * 96, "an image has 96x96 pixels");
    }
  });
  return 0;
}
