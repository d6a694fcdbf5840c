// MNIST: two IDX files, plain or gzip. An input is the length of the labels' file (two bytes), that file, and the images' file.
#include "debias/data/readers/mnist.h"

#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  static fuzz::MemoryFolder folder({"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"});
  fuzz::Bytes rest(data, size);
  const uint32_t labels = fuzz::take_number(rest, 2);
  folder.hold(1, fuzz::take(rest, labels));
  folder.hold(0, rest);
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    const auto mnist = make_mnist(MnistOptions{.root = folder.path(), .split = Split::kTest});
    for (int64_t i = 0; i < mnist->size(); ++i) {
      const Sample sample = mnist->get(i);
      fuzz::require(sample.label >= 0 && sample.label < 10, "a label is a digit");
      fuzz::require(sample.image.pixels.size() == 784, "an image has 28x28 pixels");
    }
  });
  return 0;
}
