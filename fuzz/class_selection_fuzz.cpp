// Lists of classes.
#include "debias/data/readers/class_selection.h"

#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  static fuzz::MemoryFile file;
  file.hold({data, size});
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    const ClassSelection selection = read_class_selection(file.path());
    for (const auto& [folder, label] : selection.label_of) {
      fuzz::require(label >= 0 && label < std::ssize(selection.class_names), "a folder's class is one of the list");
    }
  });
  return 0;
}
