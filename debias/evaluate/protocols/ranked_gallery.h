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
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace debias {

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

}  // namespace debias
