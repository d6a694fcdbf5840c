#include "debias/evaluate/protocols/retrieval.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "debias/core/error.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/row_mates.h"

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

namespace {

constexpr const char* kRetrievalName = "retrieval";
constexpr int64_t kQueriesAtOnce = 64;

// Labelled rows alone, of norm 1, with their places among all.
struct UnitLabelled {
  at::Tensor values;
  std::vector<int64_t> labels, places, groups;
};

UnitLabelled unit_labelled(const LabelledRows& rows) {
  const at::Tensor unit = unit_rows(rows.values, rows.labels, kRetrievalName);
  UnitLabelled own;
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    if (rows.labels[i] == kUnknown) continue;
    own.places.push_back(static_cast<int64_t>(i));
    own.labels.push_back(rows.labels[i]);
    if (!rows.groups.empty()) own.groups.push_back(rows.groups[i]);
  }
  own.values = own.places.size() == rows.labels.size() ? unit : unit.index_select(0, at::tensor(own.places, at::kLong));
  return own;
}

// Result of one query with these cosines; no hits without a relevant row.
RankingScores query_scores(const float* cosines, const UnitLabelled& gallery, const UnitLabelled& asked, size_t query, bool is_gallery,
                           const std::vector<int64_t>& ks, RankedGallery& ranked) {
  ranked.relevant.clear();
  ranked.others.clear();
  for (size_t j = 0; j < gallery.labels.size(); ++j) {
    if (is_gallery && gallery.places[j] == asked.places[query]) continue;
    if (are_mates(asked.groups, query, gallery.groups, j)) continue;
    (gallery.labels[j] == asked.labels[query] ? ranked.relevant : ranked.others).push_back(cosines[j]);
  }
  return ranked.relevant.empty() ? RankingScores() : score_ranking(ranked, ks);
}

void add(const RankingScores& query, RetrievalScores& sum) {
  if (query.hits.empty()) {
    ++sum.without_relevant;
    return;
  }
  ++sum.queries;
  sum.map += query.average_precision;
  sum.map_at_r += query.average_precision_at_r;
  for (size_t i = 0; i < sum.recall.size(); ++i) sum.recall[i] += query.hits[i];
}

void divide_by_queries(RetrievalScores& scores) {
  const double queries = scores.queries == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(scores.queries);
  for (double& recall : scores.recall) recall /= queries;
  scores.map /= queries;
  scores.map_at_r /= queries;
}

}  // namespace

RetrievalScores retrieval(const LabelledRows& gallery, const LabelledRows& queries, RetrievalQueries whose, const std::vector<int64_t>& ks,
                          Progress& progress) {
  const at::NoGradGuard no_grad;
  if (gallery.values.size(1) != queries.values.size(1)) {
    throw data_error("{}: queries of width {} and a gallery of width {}; use one encoder for both", kRetrievalName, queries.values.size(1),
                     gallery.values.size(1));
  }
  const UnitLabelled ranked = unit_labelled(gallery), asked = unit_labelled(queries);
  const int64_t N = std::ssize(ranked.labels), Q = std::ssize(asked.labels);
  RetrievalScores scores;
  scores.recall.resize(ks.size());
  progress.begin(kRetrievalName, Q);
  for (int64_t begin = 0; begin < Q; begin += kQueriesAtOnce) {
    const int64_t count = std::min(kQueriesAtOnce, Q - begin);
    const at::Tensor cosines = at::mm(asked.values.narrow(0, begin, count), ranked.values.t()).contiguous();
    const float* cosine = cosines.const_data_ptr<float>();
    std::vector<RankingScores> of_query(static_cast<size_t>(count));
    at::parallel_for(0, count, 1, [&](int64_t low, int64_t high) {
      RankedGallery buffer;
      for (int64_t i = low; i < high; ++i) {
        const auto query = static_cast<size_t>(begin + i);
        of_query[static_cast<size_t>(i)] =
            query_scores(cosine + i * N, ranked, asked, query, whose == RetrievalQueries::kGallery, ks, buffer);
      }
    });
    for (const RankingScores& query : of_query) add(query, scores);
    progress.advance(begin + count, "");
  }
  progress.end();
  divide_by_queries(scores);
  return scores;
}

std::vector<Metric> retrieval_metrics() {
  return {{.name = "retrieval_recall_at",
           .title = "retrieval recall@{}",
           .unit = Unit::kShare,
           .better = Better::kHigher,
           .standing = Standing::kProtocol,
           .of_setting = true},
          {"retrieval_map", "retrieval mAP", Unit::kShare, Better::kHigher, Standing::kProtocol},
          {"retrieval_map_at_r", "retrieval mAP@R", Unit::kShare, Better::kHigher, Standing::kProtocol}};
}

EvaluationResult run_retrieval(const EvaluationInput& input, EvaluationCache& cache, const RetrievalOptions& options, Progress& progress) {
  const int64_t classes = count_classes(*input.train, kRetrievalName);
  for (const auto& evaluated : evaluated_splits(input)) require_labels(*evaluated.dataset, classes, kRetrievalName);
  EvaluationResult result;
  std::vector<std::pair<std::string, int64_t>> queries;
  const bool of_train = options.gallery == RetrievalGallery::kTrain;
  for (const auto& evaluated : evaluated_splits(input)) {
    const Features& own = cache.split(evaluated.name);
    const Features& gallery = of_train ? cache.train() : own;
    const auto whose = of_train && !input.leaves_one_out ? RetrievalQueries::kOthers : RetrievalQueries::kGallery;
    GroupNumbers numbers;
    const std::vector<int64_t> own_groups = numbers.of(*evaluated.dataset, own.indices);
    const std::vector<int64_t> gallery_groups = of_train ? numbers.of(*input.train, gallery.indices) : own_groups;
    const RetrievalScores scores =
        retrieval({gallery.values, gallery.labels, gallery_groups}, {own.values, own.labels, own_groups}, whose, options.k, progress);
    queries.emplace_back(evaluated.name, scores.queries);
    if (scores.without_relevant > 0) {
      result.notes.push_back(fmt::format("{}: {}: {} of {} queries have no other image of their class in the gallery and are left out",
                                         kRetrievalName, evaluated.name, scores.without_relevant,
                                         scores.queries + scores.without_relevant));
    }
    if (scores.queries == 0) continue;
    for (size_t i = 0; i < options.k.size(); ++i) {
      result.metrics[fmt::format("{}.retrieval_recall_at_{}", evaluated.name, options.k[i])] = scores.recall[i];
    }
    result.metrics[evaluated.name + ".retrieval_map"] = scores.map;
    result.metrics[evaluated.name + ".retrieval_map_at_r"] = scores.map_at_r;
  }
  result.record = describe(kRetrievalName, input, result.metrics, config_of(options), classes);
  result.record.queries = std::move(queries);
  if (!result.notes.empty()) result.record.notes = result.notes;
  return result;
}

}  // namespace debias
