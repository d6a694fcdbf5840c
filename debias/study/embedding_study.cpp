#include "debias/study/embedding_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/core/philox.h"

namespace debias {
namespace {

struct KnownRows {
  int64_t count = 0, dimensions = 0;
  std::vector<float> values;  // unit rows
  std::vector<int64_t> labels;
  std::map<int64_t, std::vector<int64_t>> classes;  // rows by label

  double cosine(int64_t a, int64_t b) const {
    const float* x = values.data() + a * dimensions;
    const float* y = values.data() + b * dimensions;
    float sum = 0;
    for (int64_t i = 0; i < dimensions; ++i) sum += x[i] * y[i];
    return std::clamp(static_cast<double>(sum), -1.0, 1.0);
  }
};

KnownRows known_rows(const LabelledEmbeddings& given) {
  KnownRows rows{.dimensions = given.dimensions, .values = {}, .labels = {}, .classes = {}};
  for (int64_t i = 0; i < given.rows; ++i) {
    const int64_t label = given.labels[static_cast<size_t>(i)];
    if (label == -1) continue;
    const auto row = given.values.begin() + i * given.dimensions;
    double squares = 0;
    for (int64_t j = 0; j < given.dimensions; ++j) squares += static_cast<double>(row[j]) * row[j];
    if (!(squares > 0) || !std::isfinite(squares)) {
      throw data_error("study: row {} of the embeddings is zero or not finite; remove or repair it", i);
    }
    for (int64_t j = 0; j < given.dimensions; ++j) rows.values.push_back(static_cast<float>(row[j] / std::sqrt(squares)));
    rows.classes[label].push_back(rows.count++);
    rows.labels.push_back(label);
  }
  return rows;
}

void check(const KnownRows& rows, const EmbeddingStudyOptions& options) {
  if (rows.classes.size() < 2) {
    throw data_error("study: the labels name {} class{}; true negatives need at least two", rows.classes.size(),
                     rows.classes.size() == 1 ? "" : "es");
  }
  const bool paired = std::any_of(rows.classes.begin(), rows.classes.end(), [](const auto& entry) { return entry.second.size() > 1; });
  if (!paired) throw data_error("study: no two of the {} rows share a class; positives need at least two rows of one", rows.count);
  const auto in_range = [](const char* name, double value, double low, double high, const char* range) {
    if (!(value >= low && value <= high)) throw usage_error("study: {} must be in {}, found {}; give a value inside", name, range, value);
  };
  in_range("temperature", options.temperature, 0.05, 100, "[0.05, 100]");
  if (options.tau_plus) in_range("tau_plus", *options.tau_plus, 0, std::nextafter(1, 0), "[0, 1)");
  if (options.alpha) in_range("alpha", *options.alpha, 0.5, 1, "[0.5, 1]");
  in_range("beta", options.beta, 0, 1e3, "[0, 1000]");
  const auto at_least_one = [](const char* name, int64_t value) {
    if (value < 1) throw usage_error("study: {} must be at least 1, found {}; give a positive number", name, value);
  };
  at_least_one("negatives", options.negatives);
  at_least_one("positives", options.positives);
  at_least_one("anchors", options.anchors);
  if (options.negatives > rows.count - 1) {
    throw usage_error("study: {} negatives were asked for, the {} labelled rows have {} beside the anchor; give fewer", options.negatives,
                      rows.count, rows.count - 1);
  }
}

double share_of_class(const KnownRows& rows) {
  double pairs = 0;
  for (const auto& [label, members] : rows.classes) pairs += static_cast<double>(members.size()) * static_cast<double>(members.size() - 1);
  return pairs / (static_cast<double>(rows.count) * static_cast<double>(rows.count - 1));
}

// An anchor against all other rows.
struct AnchorTruth {
  int64_t row = 0;
  std::vector<double> exponentials;   // e^s by row
  double negative = 0, positive = 0;  // means over other classes, over the others of its own
  double ranked = 0;                  // chance that one of its class is nearer than one of another; ties count half
};

AnchorTruth truth_of(const KnownRows& rows, int64_t row, double temperature) {
  AnchorTruth truth{.row = row, .exponentials = std::vector<double>(static_cast<size_t>(rows.count))};
  std::vector<double> own, others;
  for (int64_t j = 0; j < rows.count; ++j) {
    const double value = truth.exponentials[static_cast<size_t>(j)] = std::exp(rows.cosine(row, j) / temperature);
    if (j != row) (rows.labels[static_cast<size_t>(j)] == rows.labels[static_cast<size_t>(row)] ? own : others).push_back(value);
  }
  truth.negative = std::accumulate(others.begin(), others.end(), 0.0) / static_cast<double>(others.size());
  truth.positive = std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size());
  std::sort(others.begin(), others.end());
  for (const double value : own) {
    const auto [first, last] = std::equal_range(others.begin(), others.end(), value);
    truth.ranked += static_cast<double>((first - others.begin()) + (last - others.begin())) / 2;
  }
  truth.ranked /= static_cast<double>(own.size()) * static_cast<double>(others.size());
  return truth;
}

// Rows with another of their class, in a random order of which the first are taken.
std::vector<int64_t> anchors_of(const KnownRows& rows, int64_t wanted, uint64_t seed) {
  std::vector<int64_t> anchors;
  for (const int64_t row : permutation(rows.count, {.domain = RngDomain::kStudy, .seed = seed, .step = 9})) {
    if (rows.classes.at(rows.labels[static_cast<size_t>(row)]).size() > 1) anchors.push_back(row);
  }
  anchors.resize(std::min(anchors.size(), static_cast<size_t>(wanted)));
  return anchors;
}

std::vector<EmbeddingSetting> settings_of(const EmbeddingStudyOptions& options, double tau_plus, double alpha, int64_t rows) {
  const double t = options.temperature;
  EmbeddingSetting base{"base", 0, options.negatives, {}};
  base.options = {.tau_plus = tau_plus,
                  .alpha = alpha,
                  .beta = 0,
                  .authors_beta = 0.5,
                  .hard_beta = options.beta,
                  .least = std::exp(-1 / t),
                  .self = std::exp(1 / t)};
  std::vector<EmbeddingSetting> out = {base};
  const auto vary = [&](const char* parameter, double value) -> EmbeddingSetting& {
    out.push_back(base);
    out.back().parameter = parameter;
    out.back().value = value;
    return out.back();
  };
  for (const double factor : {0.0, 0.25, 0.5, 1.0, 1.5, 2.0}) {
    const double value = std::min(factor * tau_plus, 0.95);
    vary("tau_plus", value).options.tau_plus = value;
  }
  for (const double value : {0.5, 0.6, 0.7, 0.8, 0.9, 1.0}) vary("alpha", value).options.alpha = value;
  for (const double value : {0.0, 0.25, 0.5, 1.0, 2.0}) {
    auto& setting = vary("beta", value);
    setting.options.beta = setting.options.hard_beta = value;
  }
  for (const int64_t value : {16, 64, 256, 1024}) {
    if (value < rows) vary("negatives", static_cast<double>(value)).negatives = value;
  }
  return out;
}

// The first `wanted` of a random order of the other rows, in `order`'s front.
void draw_others(std::vector<int64_t>& order, int64_t row, int64_t wanted, Random& random) {
  std::swap(order[static_cast<size_t>(row)], order.back());  // `order` is 0, 1, ... on entry
  const auto others = std::ssize(order) - 1;
  for (int64_t i = 0; i < wanted; ++i) std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(i + random.below(others - i))]);
}

class EmbeddingRun {
 public:
  EmbeddingRun(const KnownRows& rows, const EmbeddingStudyOptions& options, std::vector<EmbeddingSetting> settings)
      : rows_(rows), options_(options), settings_(std::move(settings)) {
    for (const auto& setting : settings_) {
      estimators_.emplace_back(setting.options, setting.negatives);
      most_ = std::max(most_, setting.negatives);
    }
  }

  const std::vector<EmbeddingSetting>& settings() const { return settings_; }

  // Adds every setting's estimates of one repetition at one anchor; the draws are shared by all settings.
  void add(const AnchorTruth& truth, const StudyRun& run, int64_t repetition, std::vector<ErrorSums>& sums) const {
    Random random({.domain = RngDomain::kStudy,
                   .seed = run.seed,
                   .epoch = static_cast<uint64_t>(repetition),
                   .sample = static_cast<uint64_t>(truth.row),
                   .step = 10});
    std::vector<int64_t> order(static_cast<size_t>(rows_.count));
    std::iota(order.begin(), order.end(), int64_t{0});
    draw_others(order, truth.row, most_, random);
    const double positive = drawn_positives(truth, random);
    std::map<int64_t, std::pair<std::vector<double>, double>> drawn;  // by N: values in order, and the mean over true negatives
    for (size_t i = 0; i < settings_.size(); ++i) {
      const int64_t n = settings_[i].negatives;
      if (!drawn.contains(n)) drawn[n] = values_of(truth, order, n);
      const auto& [values, oracle] = drawn[n];
      const Estimates estimates = estimators_[i]({values, positive, oracle});
      for (size_t k = 0; k < kEstimators; ++k) {
        const auto estimator = static_cast<Estimator>(k);
        sums[i].add(estimator, estimates[k], estimates_positive(estimator) ? truth.positive : truth.negative);
      }
    }
  }

 private:
  double drawn_positives(const AnchorTruth& truth, Random& random) const {
    const auto& own = rows_.classes.at(rows_.labels[static_cast<size_t>(truth.row)]);
    double sum = 0;
    for (int64_t i = 0; i < options_.positives; ++i) {
      int64_t row = own[static_cast<size_t>(random.below(std::ssize(own) - 1))];
      if (row == truth.row) row = own.back();
      sum += truth.exponentials[static_cast<size_t>(row)];
    }
    return sum / static_cast<double>(options_.positives);
  }

  std::pair<std::vector<double>, double> values_of(const AnchorTruth& truth, const std::vector<int64_t>& order, int64_t n) const {
    std::vector<double> values;
    double sum = 0, count = 0;
    for (int64_t i = 0; i < n; ++i) {
      const auto row = static_cast<size_t>(order[static_cast<size_t>(i)]);
      values.push_back(truth.exponentials[row]);
      if (rows_.labels[row] == rows_.labels[static_cast<size_t>(truth.row)]) continue;
      sum += values.back();
      ++count;
    }
    std::sort(values.begin(), values.end());
    return {std::move(values), count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN()};
  }

  const KnownRows& rows_;
  const EmbeddingStudyOptions& options_;
  std::vector<EmbeddingSetting> settings_;
  std::vector<AnchorEstimators> estimators_;
  int64_t most_ = 0;
};

// The objective that works with an estimator.
const char* objective_of(Estimator estimator) {
  switch (estimator) {
    case Estimator::kDebiasedFloor:
      return "debiased_negatives";
    case Estimator::kHard:
      return "hard_negatives";
    case Estimator::kBayesianPaper:
      return "bayesian (form paper)";
    case Estimator::kBayesianCorrected:
      return "bayesian (form corrected)";
    case Estimator::kBayesianAuthors:
      return "bayesian (form authors)";
    default:
      return "infonce";
  }
}

// The options that an estimator reads.
std::string reads(Estimator estimator, const EmbeddingSetting& setting) {
  const auto& options = setting.options;
  switch (estimator) {
    case Estimator::kHard:
      return fmt::format("tau_plus {:.3g}, beta {:.3g}", options.tau_plus, options.hard_beta);
    case Estimator::kBayesianPaper:
    case Estimator::kBayesianCorrected:
      return fmt::format("tau_plus {:.3g}, alpha {:.3g}, beta {:.3g}", options.tau_plus, options.alpha, options.beta);
    case Estimator::kBayesianAuthors:
      return fmt::format("tau_plus {:.3g}, alpha {:.3g}, beta {:.3g}", options.tau_plus, options.alpha, options.authors_beta);
    default:
      return fmt::format("tau_plus {:.3g}", options.tau_plus);
  }
}

}  // namespace

std::string recommendation(const std::vector<EmbeddingFigures>& settings) {
  constexpr double kAsGood = 1.1;
  const int64_t n = settings.front().setting.negatives;
  const double plain = settings.front().of[static_cast<size_t>(Estimator::kBiased)].mse.mean;
  double least = std::numeric_limits<double>::infinity();
  const EmbeddingSetting* best = nullptr;
  Estimator winner = Estimator::kBiased;
  for (const auto& [setting, of] : settings) {
    if (setting.negatives != n) continue;
    for (const auto estimator : {Estimator::kDebiasedFloor, Estimator::kHard, Estimator::kBayesianPaper, Estimator::kBayesianCorrected,
                                 Estimator::kBayesianAuthors}) {
      const double mse = of[static_cast<size_t>(estimator)].mse.mean;
      if (mse < least) least = mse, best = &setting, winner = estimator;
    }
  }
  if (best == nullptr || plain <= kAsGood * least) {
    return fmt::format("Plain InfoNCE is as good here: at N = {} its mean squared error is {:.3g}, the best of the others {:.3g}.", n,
                       plain, least);
  }
  return fmt::format("Take {} with {}: at N = {} its mean squared error is {:.3g}, that of plain InfoNCE {:.3g}.", objective_of(winner),
                     reads(winner, *best), n, least, plain);
}

EmbeddingStudy study_embeddings(const LabelledEmbeddings& embeddings, const EmbeddingStudyOptions& options, const StudyRun& run) {
  const KnownRows rows = known_rows(embeddings);
  check(rows, options);
  const std::vector<int64_t> anchors = anchors_of(rows, options.anchors, run.seed);
  const auto count = std::ssize(anchors);
  const auto truth_at = [&](int64_t i) { return truth_of(rows, anchors[static_cast<size_t>(i)], options.temperature); };

  std::vector<double> ranked(anchors.size());
  for_each_piece(count, run.threads, [&](int64_t i) { ranked[static_cast<size_t>(i)] = truth_at(i).ranked; });
  EmbeddingStudy out{.rows = rows.count, .classes = std::ssize(rows.classes), .anchors = count, .settings = {}, .recommendation = {}};
  out.tau_plus = share_of_class(rows);
  out.alpha = std::accumulate(ranked.begin(), ranked.end(), 0.0) / static_cast<double>(count);

  const double alpha = options.alpha.value_or(std::clamp(out.alpha, 0.5, 1.0));
  const EmbeddingRun study(rows, options, settings_of(options, options.tau_plus.value_or(out.tau_plus), alpha, rows.count));
  // Blocks of anchors, whose spread gives the intervals: anchors vary more than draws.
  constexpr int64_t kBlock = 16;
  std::vector<std::vector<ErrorSums>> sums(study.settings().size(),
                                           std::vector<ErrorSums>(static_cast<size_t>((count + kBlock - 1) / kBlock)));
  for_each_piece((count + kBlock - 1) / kBlock, run, "blocks of anchors", [&](int64_t block) {
    std::vector<ErrorSums> own(study.settings().size());
    for (int64_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
      const AnchorTruth truth = truth_at(i);
      for (int64_t r = 0; r < run.repetitions; ++r) study.add(truth, run, r, own);
    }
    for (size_t s = 0; s < own.size(); ++s) sums[s][static_cast<size_t>(block)] = own[s];
  });
  for (size_t s = 0; s < sums.size(); ++s) out.settings.push_back({study.settings()[s], figures(sums[s])});
  out.recommendation = recommendation(out.settings);
  return out;
}

LabelledEmbeddings read_labelled_embeddings(const std::string& embeddings, const std::string& labels) {
  const NpyArray z = read_npy(embeddings);
  if (z.shape.size() != 2)
    throw data_error("{}: embeddings must have shape [N, D], found {} dimensions; flatten the views", embeddings, z.shape.size());
  LabelledEmbeddings out{.rows = z.shape[0], .dimensions = z.shape[1], .values = {}, .labels = {}};
  if (z.dtype == DType::kFloat32) {
    const auto values = z.as<float>();
    out.values.assign(values.begin(), values.end());
  } else if (z.dtype == DType::kFloat64) {
    for (const double value : z.as<double>()) out.values.push_back(static_cast<float>(value));
  } else {
    throw data_error("{}: embeddings must be float32 or float64, found {}; convert them", embeddings, name_of(z.dtype));
  }
  const NpyArray y = read_npy(labels);
  out.labels = npy_integers(y, labels);
  if (y.shape.size() != 1 || std::ssize(out.labels) != out.rows) {
    throw data_error("{}: {} labels for {} rows of embeddings; give one for each, shape [N]", labels, out.labels.size(), out.rows);
  }
  return out;
}

}  // namespace debias
