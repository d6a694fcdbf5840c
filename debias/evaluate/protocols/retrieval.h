// Retrieval: whether the images most like an image are of its class.
//
// Every labelled image of an evaluated split is a query; the gallery is ranked by cosine, and images of the query's class are relevant. The
// numbers are means over the queries: recall@k (whether one of the first k is relevant), mAP and mAP@R (below, with what
// becomes of equal cosines).
//
// The gallery is the evaluated split itself, without the query, as metric learning evaluates (Musgrave et al. 2020), or the training set.
// Images without a label are in neither. Queries without a relevant image are left out and counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"

namespace debias {

// Quality of one query's ranking of a gallery: recall@k, average precision and average precision at R.
//
// The gallery is ranked by cosine, R of its rows are relevant. With P(i) the precision of the first i rows and rel(i) whether row i is
// relevant,
//   hit@k = whether one of the first k rows is relevant,   AP = 1/R sum over i of P(i) rel(i),   AP@R = the same sum over i <= R
// (Musgrave et al. 2020, "A metric learning reality check", for AP@R).
//
// Rows of equal cosine have no order. Every number is the expectation over all orders of theirs, each equally likely (McSherry & Najork
// 2008, "Computing information retrieval performance measures efficiently in the presence of tied scores"), so that the order of the
// gallery, which often is that of the classes, decides nothing: features that have collapsed to a point score what chance does.

// By cosine, of rows that are not the query.
struct RankedGallery {
  std::vector<float> relevant, others;
};

struct RankingScores {
  double average_precision = 0, average_precision_at_r = 0;
  std::vector<double> hits;  // of each k
};

// At least one relevant row; k >= 1 each. No NaN. Sorts `gallery.relevant`.
RankingScores score_ranking(RankedGallery& gallery, std::span<const int64_t> ks);

enum class RetrievalGallery { kEvaluated, kTrain };
constexpr auto enum_words(RetrievalGallery) { return named("evaluated", "train"); }

struct RetrievalOptions {
  std::vector<int64_t> k = {1, 5, 10};
  RetrievalGallery gallery = RetrievalGallery::kEvaluated;
  void describe(OptionVisitor& o) {
    o("k", k, Range::closed(1, 1e6), "numbers of nearest images for recall@k");
    o("gallery", gallery, "images that are ranked: the evaluated split's own without the query, or the training set's");
    o.check([this](const std::string& what) {
      if (k.empty()) throw usage_error("{}: k: give at least one, e.g. k: [1, 5, 10]", what);
      std::vector<int64_t> sorted = k;
      std::ranges::sort(sorted);
      const auto repeated = std::ranges::adjacent_find(sorted);
      if (repeated != sorted.end()) throw usage_error("{}: k: {} is given twice; give it once", what, *repeated);
    });
  }
};

struct LabelledRows {
  at::Tensor values;                 // float32 [N, D], of any norm
  std::vector<int64_t> labels;       // [N]; kUnknown: neither a query nor in the gallery
  std::vector<int64_t> groups = {};  // [N], kUnknown: of none; empty: of none. Rows of the query's group are left out of its ranking
};

// kGallery: query i is row i of the gallery, and left out of its own ranking.
enum class RetrievalQueries { kOthers, kGallery };

struct RetrievalScores {
  std::vector<double> recall;  // of each k
  double map = 0, map_at_r = 0;
  int64_t queries = 0;           // over which the means are
  int64_t without_relevant = 0;  // labelled queries that have no row of their class in the gallery
};

// NaN everywhere without a query. Cosines of 64 queries are held at a time, never a table of all of them. Data errors: lengths or widths
// that differ. Numeric error on a row that is not finite.
RetrievalScores retrieval(const LabelledRows& gallery, const LabelledRows& queries, RetrievalQueries whose, const std::vector<int64_t>& ks,
                          Progress& progress = Progress::silent());

std::vector<Metric> retrieval_metrics();

// Metrics retrieval_recall_at_K, retrieval_map and retrieval_map_at_r of each evaluated split.
EvaluationResult run_retrieval(const EvaluationInput& input, EvaluationCache& cache, const RetrievalOptions& options, Progress& progress);

}  // namespace debias
