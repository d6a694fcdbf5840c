#include "debias/evaluate/prediction_file.h"

#include "debias/core/atomic_file.h"

namespace debias {

bool write_predictions(const std::string& path, const EvaluationResult& result, const EvaluationInput& input, CsvCells cells) {
  if (result.predictions.empty()) return false;
  std::string text = "split,filenames,labels,biases,predictions\n";
  for (const auto& evaluated : evaluated_splits(input)) {
    const Dataset& dataset = *evaluated.dataset;
    const std::vector<int64_t>& predictions = result.predictions.at(evaluated.name);
    for (int64_t i = 0; i < dataset.size(); ++i) {
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{}\n", evaluated.name, csv_field(dataset.source(i), cells), dataset.label(i),
                     dataset.bias(i), predictions[i]);
    }
  }
  write_file_atomically(path, text);
  return true;
}

}  // namespace debias
