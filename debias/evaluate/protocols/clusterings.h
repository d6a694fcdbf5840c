// The protocol `clusterings`: mean accuracy over groups where a bias has no labels, but images can be clustered by it.
//
// A CSV gives each evaluated image its cluster in one or several clusterings, a column each (Bahng et al. 2020 cluster the validation
// images of ImageNet by texture, three times into nine). For a clustering, with n[y,k] images of class y in cluster k of which r[y,k] are
// predicted right: the mean of r / n over the cells with at least min_count images, with equal weights. The metric is the mean over
// the clusterings: what Bahng et al. call unbiased accuracy.
//
// Rows are found by path: one of the CSV's path and the image's source must end in the other, part by part. Rows of other images are
// ignored; an evaluated set of which no image has a row is not evaluated, and one of which some have none is rejected.
#pragma once

#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"
#include "debias/evaluate/protocols/groups.h"

namespace debias {

struct ClusteringsOptions {
  std::string file = "";
  std::string path = "path";
  std::vector<std::string> columns = {"cluster1", "cluster2", "cluster3"};
  int64_t min_count = 10;
  PredictionSource predictions = PredictionSource::kAuto;
  void describe(OptionVisitor& o) {
    o("file", file, "CSV with a row for each evaluated image");
    o("path", path, "column of paths");
    o("columns", columns, "columns of clusters, one for each clustering");
    o("min_count", min_count, Range::closed(1, 1e9), "minimum size of a cell of class and cluster; smaller cells are left out");
    o("predictions", predictions, "predictions to evaluate; auto: the run's classifier, else kNN");
    o.check([this](const std::string& what) {
      if (columns.empty()) throw usage_error("{}: columns: give at least one", what);
    });
  }
};

std::vector<Metric> clusterings_metrics();

// Metric clusterings_acc. The record has per split and column the accuracy and the number of cells that counted. Usage errors: no file, no
// columns; as of run_groups for predictions. Data errors: of the CSV, naming it; no evaluated image in it; no cell of min_count images.
EvaluationResult run_clusterings(const EvaluationInput& input, EvaluationCache& cache, const ClusteringsOptions& options,
                                 Progress& progress);

}  // namespace debias
