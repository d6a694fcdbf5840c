// Tables of labels and biases by path (even first byte), and lists of classes (odd).
#include "debias/data/label_file.h"

#include "debias/data/class_selection.h"
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  static fuzz::MemoryFile file;
  fuzz::Bytes rest(data, size);
  const bool classes = fuzz::take_number(rest, 1) % 2 != 0;
  file.hold(rest);
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    if (classes) {
      const ClassSelection selection = read_class_selection(file.path());
      for (const auto& [folder, label] : selection.label_of) {
        fuzz::require(label >= 0 && label < static_cast<int64_t>(selection.class_names.size()), "a folder's class is one of the list");
      }
      return;
    }
    const LabelFile labels = read_label_file(file.path());
    for (const auto& [path, row] : labels.rows) {
      fuzz::require(row.label < static_cast<int64_t>(labels.label_names.size()), "a label has a name");
      fuzz::require(row.bias < static_cast<int64_t>(labels.bias_names.size()), "a bias has a name");
      fuzz::require(row.label >= kUnknown && row.bias >= kUnknown && row.line > 1, "a row has its line, a label and a bias");
    }
  });
  return 0;
}
