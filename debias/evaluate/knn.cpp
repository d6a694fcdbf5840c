#include "debias/evaluate/knn.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/accuracy.h"

namespace debias {
namespace {

constexpr int64_t kUsualNeighbours = 200;

struct Neighbour {
  float cosine;
  int64_t row;
};

bool nearer(const Neighbour& a, const Neighbour& b) { return a.cosine > b.cosine || (a.cosine == b.cosine && a.row < b.row); }

at::Tensor normalized(const at::Tensor& rows, const char* name) {
  const at::Tensor norm = at::linalg_vector_norm(rows, 2, {1}, true);
  if (!at::isfinite(norm).all().item<bool>()) throw numeric_error("knn: a row of the {} is not finite; check the encoder's weights", name);
  return rows / at::clamp_min(norm, 1e-12);
}

// A heap whose front is the farthest of the k nearest so far. Rows come in ascending order, so an equal cosine never displaces.
void offer(std::vector<Neighbour>& nearest, int64_t k, const float* cosines, int64_t count, int64_t first_row) {
  for (int64_t j = 0; j < count; ++j) {
    if (static_cast<int64_t>(nearest.size()) == k) {
      if (!(cosines[j] > nearest.front().cosine)) continue;
      std::pop_heap(nearest.begin(), nearest.end(), nearer);
      nearest.pop_back();
    }
    nearest.push_back({cosines[j], first_row + j});
    std::push_heap(nearest.begin(), nearest.end(), nearer);
  }
}

std::vector<double> votes(std::vector<Neighbour>& nearest, const std::vector<int64_t>& labels, int64_t classes, double temperature) {
  std::sort(nearest.begin(), nearest.end(), nearer);
  std::vector<double> scores(static_cast<size_t>(classes));
  const double top = nearest.front().cosine;
  for (const Neighbour& neighbour : nearest) scores[labels[neighbour.row]] += std::exp((neighbour.cosine - top) / temperature);
  return scores;
}

struct Voters {
  at::Tensor values;
  std::vector<int64_t> labels;
};

Voters labelled(const KnnGallery& gallery) {
  std::vector<int64_t> rows;
  Voters voters;
  for (size_t i = 0; i < gallery.labels.size(); ++i) {
    if (gallery.labels[i] == kUnknown) continue;
    rows.push_back(static_cast<int64_t>(i));
    voters.labels.push_back(gallery.labels[i]);
  }
  voters.values = rows.size() == gallery.labels.size() ? gallery.values : gallery.values.index_select(0, at::tensor(rows, at::kLong));
  voters.values = normalized(voters.values, "gallery");
  return voters;
}

}  // namespace

// Kept out of line: inlined into the table, GCC 12 takes the absent value of an `auto` for read (-Wmaybe-uninitialized).
[[gnu::noinline]] KnnOptions::KnnOptions() = default;

const OptionTable<KnnOptions>& KnnOptions::table() {
  static const auto table =
      OptionTable<KnnOptions>()
          .add("k", &KnnOptions::k_, Range::at_least(1), "neighbours that vote; auto: 200, or all of a smaller gallery")
          .add("temperature", &KnnOptions::temperature_, Range::closed(1e-3, 100), "divides the cosine of a vote; auto: that of training");
  return table;
}

int64_t resolve_k(const KnnOptions& options, int64_t gallery_size) {
  if (!options.k()) return std::min(kUsualNeighbours, gallery_size);
  if (*options.k() > gallery_size) {
    throw usage_error("knn: k: {} neighbours of a gallery of {} labelled images; give k of at most {}", *options.k(), gallery_size,
                      gallery_size);
  }
  return *options.k();
}

KnnResult knn(const KnnGallery& gallery, const at::Tensor& queries, const std::vector<int64_t>& labels, int64_t k, double temperature,
              const KnnBlock& block) {
  const at::NoGradGuard no_grad;
  const Voters voters = labelled(gallery);
  const int64_t N = voters.values.size(0), Q = queries.size(0);
  KnnResult result;
  result.predictions.resize(static_cast<size_t>(Q));
  result.ranks.resize(static_cast<size_t>(Q));
  for (int64_t begin = 0; begin < Q; begin += block.queries) {
    const int64_t count = std::min(block.queries, Q - begin);
    const at::Tensor rows = normalized(queries.narrow(0, begin, count), "queries");
    std::vector<std::vector<Neighbour>> nearest(static_cast<size_t>(count));
    for (int64_t first = 0; first < N; first += block.gallery) {
      const int64_t width = std::min(block.gallery, N - first);
      const at::Tensor cosines = at::mm(rows, voters.values.narrow(0, first, width).t()).contiguous();
      const float* cosine = cosines.const_data_ptr<float>();
      at::parallel_for(0, count, 1, [&](int64_t low, int64_t high) {
        for (int64_t i = low; i < high; ++i) offer(nearest[i], k, cosine + i * width, width, first);
      });
    }
    for (int64_t i = 0; i < count; ++i) {
      const std::vector<double> scores = votes(nearest[i], voters.labels, gallery.classes, temperature);
      result.predictions[begin + i] = std::max_element(scores.begin(), scores.end()) - scores.begin();
      result.ranks[begin + i] = label_rank(scores, labels[begin + i]);
    }
  }
  return result;
}

}  // namespace debias
