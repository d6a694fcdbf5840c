#include "debias/report/similarity_history.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "debias/core/config.h"

namespace debias {

std::vector<SimilarityEpoch> read_similarity_history(const std::string& folder) {
  namespace fs = std::filesystem;
  const std::string prefix = "epoch-";
  std::vector<SimilarityEpoch> history;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string(), path = entry.path().string() + "/geometry.json";
    int64_t epoch = 0;
    if (!name.starts_with(prefix) || !parse_integer(name.substr(prefix.size()), &epoch) || !fs::exists(path)) continue;
    history.push_back({epoch, read_evaluation(path).similarity});
  }
  std::ranges::sort(history, {}, &SimilarityEpoch::epoch);
  return history;
}

double cosine_quantile(const SimilarityHistogram& histogram, double share) {
  const auto bins = static_cast<double>(histogram.histogram.size());
  const double wanted = share * static_cast<double>(histogram.pairs);
  double below = 0;
  for (size_t i = 0; i < histogram.histogram.size() && histogram.pairs > 0; ++i) {
    const auto here = static_cast<double>(histogram.histogram[i]);
    if (here > 0 && below + here >= wanted) return -1 + 2 / bins * (static_cast<double>(i) + std::max(0.0, wanted - below) / here);
    below += here;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace debias
