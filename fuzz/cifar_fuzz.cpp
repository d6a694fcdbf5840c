// CIFAR-10 and CIFAR-100. An input is which of the two (one byte, even or odd), the file's length (three bytes) and what the file repeats.
#include "debias/data/readers/cifar.h"

#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  constexpr uint32_t kLongest = 40'000;  // bytes: thirteen records and a part of one
  static fuzz::MemoryFolder folder({"test_batch.bin", "test.bin"});
  fuzz::Bytes rest(data, size);
  const bool hundred = fuzz::take_number(rest, 1) % 2 != 0;
  const uint32_t length = fuzz::take_number(rest, 3) % kLongest;
  folder.hold(hundred ? 1 : 0, fuzz::repeated(rest, length));
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    CifarOptions options;
    options.root = folder.path();
    options.split = Split::kTest;
    const auto cifar = hundred ? make_cifar100(options) : make_cifar10(options);
    fuzz::require(cifar->size() == length / (hundred ? 3074 : 3073), "every record is an image");
    for (int64_t i = 0; i < cifar->size(); ++i) {
      const Sample sample = cifar->get(i);
      fuzz::require(sample.label >= 0 && sample.label < (hundred ? 100 : 10), "a label is a class");
      fuzz::require(sample.image.pixels.size() == 3072, "an image has 32x32 pixels");
    }
  });
  return 0;
}
