#include "debias/evaluate/protocols/knn.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "debias/core/error.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/row_mates.h"

namespace debias {
namespace {

constexpr int64_t kUsualNeighbours = 200;

// The rows that have a label, or all of them.
UnitRows scaled_rows(const at::Tensor& values, const std::vector<int64_t>* labels, const char* name) {
  const at::Tensor norms = at::linalg_vector_norm(values, 2, {1});
  if (!at::isfinite(norms).all().item<bool>()) throw numeric_error("knn: a row of the {} is not finite; check the encoder's weights", name);
  const float* norm = norms.const_data_ptr<float>();
  UnitRows unit{values.const_data_ptr<float>(), values.size(1), {}, {}};
  for (int64_t i = 0; i < values.size(0); ++i) {
    if (labels != nullptr && (*labels)[i] == kUnknown) continue;
    unit.rows.push_back(i);
    unit.scale.push_back(1 / std::max(norm[i], 1e-12f));
  }
  return unit;
}

void check_lengths(const char* name, const at::Tensor& rows, size_t labels) {
  if (rows.size(0) == static_cast<int64_t>(labels)) return;
  throw data_error("knn: {} rows and {} labels of the {}; give one label per row", rows.size(0), labels, name);
}

void check_widths(const KnnGallery& gallery, const at::Tensor& queries) {
  if (gallery.values.size(1) != queries.size(1)) {
    throw data_error("knn: queries of width {} and a gallery of width {}; use one encoder for both", queries.size(1),
                     gallery.values.size(1));
  }
}

std::vector<double> votes(const std::vector<Neighbour>& nearest, const KnnGallery& gallery, const UnitRows& voters, double temperature) {
  std::vector<double> scores(static_cast<size_t>(gallery.classes));
  const double top = std::min_element(nearest.begin(), nearest.end(), nearer)->cosine;  // the nearest
  for (const Neighbour& neighbour : nearest) {
    scores[gallery.labels[voters.rows[neighbour.row]]] += std::exp((neighbour.cosine - top) / temperature);
  }
  return scores;
}

void leave_out_mates(const KnnGallery& gallery, const UnitRows& voters, const std::vector<int64_t>& groups, int64_t query,
                     std::vector<Neighbour>& nearest) {
  std::erase_if(nearest, [&](const Neighbour& neighbour) {
    return are_mates(groups, static_cast<size_t>(query), gallery.groups, static_cast<size_t>(voters.rows[neighbour.row]));
  });
}

void keep_nearest(int64_t k, std::vector<Neighbour>& nearest) {
  if (std::ssize(nearest) <= k) return;
  std::nth_element(nearest.begin(), nearest.begin() + k, nearest.end(), nearer);
  nearest.resize(static_cast<size_t>(k));
}

// Without the query itself; where rows like it have taken its place, without the farthest.
void leave_out(int64_t query, const UnitRows& voters, std::vector<Neighbour>& nearest) {
  auto own = std::find_if(nearest.begin(), nearest.end(), [&](const Neighbour& n) { return voters.rows[n.row] == query; });
  if (own == nearest.end()) own = std::max_element(nearest.begin(), nearest.end(), nearer);
  nearest.erase(own);
}

}  // namespace

int64_t resolve_k(const KnnOptions& options, int64_t gallery_size) {
  if (!options.k) return std::min(kUsualNeighbours, gallery_size);
  if (*options.k > gallery_size) {
    throw usage_error("knn: k: {} neighbours of a gallery of {} labelled images; give k of at most {}", *options.k, gallery_size,
                      gallery_size);
  }
  return *options.k;
}

int64_t most_mates(const KnnGallery& gallery, const std::vector<int64_t>& groups) {
  if (gallery.groups.empty() || groups.empty()) return 0;
  std::unordered_map<int64_t, int64_t> voters;
  for (size_t i = 0; i < gallery.groups.size(); ++i) {
    if (gallery.groups[i] != kUnknown && gallery.labels[i] != kUnknown) ++voters[gallery.groups[i]];
  }
  int64_t most = 0;
  for (const int64_t group : groups) {
    if (const auto found = voters.find(group); found != voters.end()) most = std::max(most, found->second);
  }
  return most;
}

KnnResult knn(const KnnGallery& gallery, const at::Tensor& queries, const std::vector<int64_t>& labels, int64_t k, double temperature,
              const KnnBlock& block, KnnQueries whose, const std::vector<int64_t>& groups) {
  const at::NoGradGuard no_grad;
  check_lengths("gallery", gallery.values, gallery.labels.size());
  check_lengths("queries", queries, labels.size());
  check_widths(gallery, queries);
  const at::Tensor gallery_values = gallery.values.contiguous(), query_values = queries.contiguous();
  const UnitRows voters = scaled_rows(gallery_values, &gallery.labels, "gallery");
  const UnitRows rows = scaled_rows(query_values, nullptr, "queries");
  const int64_t itself = whose == KnnQueries::kGallery ? 1 : 0, left_out = std::max(itself, most_mates(gallery, groups));
  if (k < 1 || k > voters.count() - left_out)
    throw data_error("knn: k is {}, the gallery has {} labelled rows; give k of 1 to that", k, voters.count() - left_out);
  KnnResult result;
  result.predictions.resize(labels.size());
  result.ranks.resize(labels.size());
  nearest_rows(voters, rows, k + left_out, block, [&](int64_t query, std::vector<Neighbour> nearest) {
    if (itself > 0) leave_out(query, voters, nearest);
    if (left_out > itself) leave_out_mates(gallery, voters, groups, query, nearest);
    keep_nearest(k, nearest);
    const std::vector<double> scores = votes(nearest, gallery, voters, temperature);
    result.predictions[query] = std::max_element(scores.begin(), scores.end()) - scores.begin();
    result.ranks[query] = label_rank(scores, labels[query]);
  });
  return result;
}

std::vector<std::vector<Neighbour>> nearest_voters(const KnnGallery& gallery, const at::Tensor& queries, int64_t k,
                                                   const std::vector<int64_t>& groups) {
  check_lengths("gallery", gallery.values, gallery.labels.size());
  check_widths(gallery, queries);
  const at::Tensor gallery_values = gallery.values.contiguous(), query_values = queries.contiguous();
  const UnitRows voters = scaled_rows(gallery_values, &gallery.labels, "gallery");
  const UnitRows rows = scaled_rows(query_values, nullptr, "queries");
  std::vector<std::vector<Neighbour>> result(rows.rows.size());
  nearest_rows(voters, rows, std::min(k + most_mates(gallery, groups), voters.count()), {.search = KnnSearch::kExact},
               [&](int64_t query, std::vector<Neighbour> nearest) {
                 leave_out_mates(gallery, voters, groups, query, nearest);
                 keep_nearest(k, nearest);
                 std::sort(nearest.begin(), nearest.end(), nearer);
                 for (Neighbour& neighbour : nearest) neighbour.row = voters.rows[neighbour.row];
                 result[query] = std::move(nearest);
               });
  return result;
}

}  // namespace debias
