#include "debias/evaluate/protocols/clusterings.h"

#include <algorithm>
#include <map>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"
#include "debias/data/readers/csv_table.h"
#include "debias/evaluate/accuracy.h"

namespace debias {
namespace {

constexpr char kClusteringsName[] = "clusterings";

// Clusters by path, of the columns asked for.
class ClusterFile {
 public:
  explicit ClusterFile(const ClusteringsOptions& options) : file_(options.file), numbers_(options.columns.size()) {
    const CsvTable table(file_);
    const auto column = [&](const std::string& name) {
      if (const auto found = table.find(name)) return *found;
      throw FileError(file_, fmt::format("no column '{}'{}", name, suggestion(name, table.titles())));
    };
    const size_t path = column(options.path);
    std::vector<size_t> places;
    for (const auto& name : options.columns) places.push_back(column(name));
    for (const CsvRecord& record : table.rows()) {
      Row row{record.fields[path], {}};
      for (size_t c = 0; c < places.size(); ++c) row.clusters.push_back(number_of(c, record.fields[places[c]]));
      by_name_.emplace(last_part(row.path), std::move(row));
    }
  }

  // Null where no row is of that image.
  const std::vector<int64_t>* clusters(const std::string& source) const {
    const std::vector<int64_t>* found = nullptr;
    const auto [begin, end] = by_name_.equal_range(last_part(source));
    for (auto row = begin; row != end; ++row) {
      if (!ends_alike(row->second.path, source)) continue;
      if (found != nullptr) throw FileError(file_, fmt::format("two rows of '{}'; give paths that distinguish images", source));
      found = &row->second.clusters;
    }
    return found;
  }
  int64_t cluster_count(size_t column) const { return std::ssize(numbers_[column]); }

 private:
  struct Row {
    std::string path;
    std::vector<int64_t> clusters;
  };

  static std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  static bool ends_alike(const std::string& a, const std::string& b) {
    const auto ends_in = [](const std::string& whole, const std::string& end) { return whole == end || whole.ends_with("/" + end); };
    return ends_in(a, b) || ends_in(b, a);
  }

  int64_t number_of(size_t column, const std::string& cluster) {
    if (cluster.empty()) return kUnknown;
    return numbers_[column].emplace(cluster, std::ssize(numbers_[column])).first->second;
  }

  std::string file_;
  std::vector<std::map<std::string, int64_t>> numbers_;  // of the clusters, by column
  std::multimap<std::string, Row> by_name_;
};

// Clusters of each image and column; empty where no image of the set has a row.
std::vector<std::vector<int64_t>> clusters_of(const ClusterFile& file, const std::string& name, const Dataset& dataset, size_t columns) {
  std::vector<std::vector<int64_t>> clusters(columns);
  int64_t missing = 0;
  std::string first;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const auto* row = file.clusters(in_utf8(dataset.source(i)));
    if (row == nullptr && missing++ == 0) first = dataset.source(i);
    for (size_t c = 0; c < columns; ++c) clusters[c].push_back(row == nullptr ? kUnknown : (*row)[c]);
  }
  if (missing == dataset.size()) return {};
  if (missing > 0) {
    throw FileError(
        name, fmt::format("no row for {} of {} images of {}, the first is '{}'", missing, dataset.size(), dataset.info().name, first));
  }
  return clusters;
}

ClusteringAccuracy mean_over_cells(const GroupCounts& counts, int64_t min_count, const std::string& what) {
  std::vector<bool> evaluated;
  for (const int64_t samples : counts.count) evaluated.push_back(samples >= min_count);
  const GroupAccuracies found = counts.accuracies(evaluated);
  if (found.groups == 0) throw data_error("clusterings: {}: no class has {} images in one cluster; lower min_count", what, min_count);
  return {found.mean, found.groups};
}

}  // namespace

std::vector<Metric> clusterings_metrics() {
  return {{"clusterings_acc", "accuracy over clusterings, mean over groups", Unit::kShare, Better::kHigher, Standing::kGroups}};
}

EvaluationResult run_clusterings(const EvaluationInput& input, EvaluationCache& cache, const ClusteringsOptions& given, Progress&) {
  ClusteringsOptions options = given;
  if (options.file.empty()) throw usage_error("clusterings: no file is given; write clusterings: {{file: FILE.csv}}");
  options.predictions = chosen_predictions(input, options.predictions, kClusteringsName);
  const int64_t classes = count_classes(*input.train, kClusteringsName);
  const ClusterFile file(options);
  EvaluationResult result;
  std::map<std::string, std::vector<std::pair<std::string, ClusteringAccuracy>>> found;
  for (const auto& evaluated : evaluated_splits(input)) {
    require_labels(*evaluated.dataset, classes, kClusteringsName);
    const auto clusters = clusters_of(file, options.file, *evaluated.dataset, options.columns.size());
    if (clusters.empty()) {
      result.notes.push_back(
          fmt::format("clusterings: {}: none of its images is in {}, so it is not evaluated", evaluated.name, options.file));
      continue;
    }
    GroupSamples samples;
    samples.classes = classes;
    for (int64_t i = 0; i < evaluated.dataset->size(); ++i) samples.labels.push_back(evaluated.dataset->label(i));
    samples.predictions = predictions_of(input, cache, options.predictions, evaluated.name);
    double sum = 0;
    for (size_t c = 0; c < clusters.size(); ++c) {
      samples.biases = clusters[c];
      samples.groups = file.cluster_count(c);
      const ClusteringAccuracy mean = mean_over_cells(count_groups(samples), options.min_count, evaluated.name + ": " + options.columns[c]);
      found[evaluated.name].emplace_back(options.columns[c], mean);
      sum += mean.accuracy;
    }
    result.metrics[evaluated.name + ".clusterings_acc"] = sum / static_cast<double>(clusters.size());
    result.predictions[evaluated.name] = std::move(samples.predictions);
  }
  if (result.metrics.empty()) throw FileError(options.file, "no row is of an evaluated image; its paths must end as theirs do");
  result.record = describe(kClusteringsName, input, result.metrics, config_of(options), classes);
  result.record.predictions = enum_name(options.predictions);
  result.record.clusterings = std::move(found);
  result.record.notes = result.notes;
  return result;
}

}  // namespace debias
