// The words of `debias eval`: its list of protocols, and key=value words, each of which belongs to a protocol, the recipe, or a data set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "debias/data/readers/label_file.h"
#include "debias/runs/run_evaluation.h"

namespace debias {

// Of "knn,linear". Usage errors: an unknown protocol, one given twice.
std::vector<RequestedProtocol> requested_protocols(const std::string& list);

struct EvalWords {
  std::vector<std::string> recipe, data, labels;
};

// `knn.k=20` is knn's; `data.test.root=DIR`, `views.eval=...` and `evaluate.unknown_classes=...` change the recipe; a bare `k=20` is the
// only protocol's, or where --data names a data set that of the data set, if the protocol has no such option. Those of protocols are added
// to `requested`. Usage errors: a word of none of them, and unknown options.
EvalWords sort_eval_words(const std::vector<std::string>& words, bool names_data, std::vector<RequestedProtocol>& requested);

// --labels with the words `labels.path=` and `labels.bias=`, which name its columns.
std::optional<LabelColumns> label_columns(const std::string& file, const std::vector<std::string>& words);

}  // namespace debias
