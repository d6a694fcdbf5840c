#include "debias/evaluate/protocols/ranked_gallery.h"

#include <algorithm>
#include <functional>

namespace debias {
namespace {

// Rows of one cosine, at least one of them relevant, in descending order of cosines.
struct TiedRows {
  float cosine = 0;
  int64_t relevant = 0, others = 0;  // of this cosine
  int64_t others_between = 0;        // larger than it, and smaller than the cosine of the rows before

  int64_t count() const { return relevant + others; }
};

std::vector<TiedRows> tied_rows(RankedGallery& gallery) {
  std::ranges::sort(gallery.relevant, std::greater<>());
  std::vector<TiedRows> tied;
  for (const float cosine : gallery.relevant) {
    if (tied.empty() || tied.back().cosine != cosine) tied.push_back({cosine, 0, 0, 0});
    ++tied.back().relevant;
  }
  for (const float cosine : gallery.others) {
    if (cosine < tied.back().cosine) continue;  // behind all relevant rows
    const auto place = std::ranges::lower_bound(tied, cosine, std::greater<>(), &TiedRows::cosine);
    ++(place->cosine == cosine ? place->others : place->others_between);
  }
  return tied;
}

// That one of the first `slots` of `count` rows in random order is one of the `relevant` ones.
double hit_probability(int64_t slots, int64_t count, int64_t relevant) {
  double miss = 1;
  for (int64_t i = 0; i < std::min(slots, count) && miss > 0; ++i) {
    miss *= static_cast<double>(std::max<int64_t>(count - relevant - i, 0)) / static_cast<double>(count - i);
  }
  return 1 - miss;
}

}  // namespace

RankingScores score_ranking(RankedGallery& gallery, std::span<const int64_t> ks) {
  const std::vector<TiedRows> tied = tied_rows(gallery);
  const auto R = std::ssize(gallery.relevant);
  RankingScores scores;
  for (const int64_t k : ks)
    scores.hits.push_back(hit_probability(k - tied.front().others_between, tied.front().count(), tied.front().relevant));
  int64_t before = 0, relevant_before = 0;
  for (const TiedRows& rows : tied) {
    before += rows.others_between;
    const auto n = rows.count();
    const double share = static_cast<double>(rows.relevant) / static_cast<double>(n);
    const double next = n == 1 ? 0 : static_cast<double>(rows.relevant - 1) / static_cast<double>(n - 1);
    for (int64_t i = 1; i <= n; ++i) {
      const double relevant_so_far = static_cast<double>(relevant_before + 1) + static_cast<double>(i - 1) * next;
      const double term = share * relevant_so_far / static_cast<double>(before + i);
      scores.average_precision += term;
      if (before + i <= R) scores.average_precision_at_r += term;
    }
    before += n;
    relevant_before += rows.relevant;
  }
  scores.average_precision /= static_cast<double>(R);
  scores.average_precision_at_r /= static_cast<double>(R);
  return scores;
}

}  // namespace debias
