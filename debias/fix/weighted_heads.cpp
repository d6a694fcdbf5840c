#include "debias/fix/weighted_heads.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "debias/core/error.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/descent.h"
#include "debias/kernels/softmax_residuals.h"
#include "debias/runtime/each_alone.h"

namespace debias {
namespace {

constexpr int64_t kLogitRows = 2000;  // no power of two, so that the logits of ten classes do not share a set of the cache
constexpr int64_t kMostParts = 16, kLeastPartRows = 500;

struct Run {
  int64_t begin, end;
};

// Stretches of at least kSkippedRows zeros.
std::vector<Run> zero_runs(const at::Tensor& weights) {
  const float* w = weights.const_data_ptr<float>();
  std::vector<Run> runs;
  for (int64_t i = 0; i < weights.size(0);) {
    int64_t end = i;
    while (end < weights.size(0) && w[end] == 0) ++end;
    if (end - i >= kSkippedRows) runs.push_back({i, end});
    i = end + 1;
  }
  return runs;
}

}  // namespace

HeadPass::HeadPass(const StandardRows& rows, const at::Tensor& labels, int64_t classes)
    : rows_(rows), labels_(labels.to(at::kInt).contiguous()), classes_(classes) {}

void HeadPass::use(const std::vector<at::Tensor>& weights) {
  heads_ = std::ssize(weights);
  parts_.clear();
  std::vector<std::vector<Run>> runs;
  std::set<int64_t> edges = {0, rows_.size()};
  for (const at::Tensor& of_head : weights) {
    runs.push_back(zero_runs(of_head));
    for (const Run& run : runs.back()) edges.insert({run.begin, run.end});
  }
  for (auto begin = edges.begin(), end = std::next(begin); end != edges.end(); ++begin, ++end) {
    std::vector<int64_t> heads;
    for (int64_t p = 0; p < heads_; ++p) {
      const auto covers = [&](const Run& run) { return run.begin <= *begin && *end <= run.end; };
      if (std::ranges::none_of(runs[static_cast<size_t>(p)], covers)) heads.push_back(p);
    }
    if (!heads.empty()) add_parts(*begin, *end, heads, weights);
  }
}

void HeadPass::add_parts(int64_t begin, int64_t end, const std::vector<int64_t>& heads, const std::vector<at::Tensor>& weights) {
  const int64_t count = end - begin, share = kMostParts * count / rows_.size();
  const int64_t parts = std::clamp<int64_t>(count / kLeastPartRows, 1, std::max<int64_t>(share, 1)), of_part = (count + parts - 1) / parts;
  for (int64_t first = begin; first < end; first += of_part) {
    Part part{heads, {}};
    const int64_t last = std::min(first + of_part, end);
    for (int64_t i = first; i < last; i += kLogitRows) {
      Block block{i, std::min(kLogitRows, last - i), {}};
      block.weights = at::empty({std::ssize(heads), block.count}, at::kFloat);
      for (size_t q = 0; q < heads.size(); ++q) {
        block.weights[static_cast<int64_t>(q)].copy_(weights[static_cast<size_t>(heads[q])].narrow(0, block.begin, block.count));
      }
      part.blocks.push_back(std::move(block));
    }
    parts_.push_back(std::move(part));
  }
}

std::vector<HeadSums> HeadPass::sums(const at::Tensor& weight, const at::Tensor& bias) const {
  std::vector<PartSums> found(parts_.size());
  each_alone(std::ssize(parts_),
             [&](int64_t i) { found[static_cast<size_t>(i)] = sums_over(parts_[static_cast<size_t>(i)], weight, bias); });
  std::vector<HeadSums> all(static_cast<size_t>(heads_));
  each_alone(heads_, [&](int64_t p) {
    HeadSums sums{0, at::zeros({classes_, rows_.dimensions()}, at::kDouble), at::zeros({classes_}, at::kDouble)};
    double* residual = sums.residual.mutable_data_ptr<double>();
    for (size_t i = 0; i < parts_.size(); ++i) {
      const std::vector<int64_t>& heads = parts_[i].heads;
      const auto place = std::ranges::lower_bound(heads, p);
      if (place == heads.end() || *place != p) continue;
      const int64_t q = place - heads.begin();
      sums.loss += found[i].losses[static_cast<size_t>(q)];
      for (int64_t c = 0; c < classes_; ++c) residual[c] += found[i].residuals[static_cast<size_t>(q * classes_ + c)];
      sums.gradient += found[i].gradients.narrow(0, q * classes_, classes_);
    }
    all[static_cast<size_t>(p)] = std::move(sums);
  });
  return all;
}

HeadPass::PartSums HeadPass::sums_over(const Part& part, const at::Tensor& weight, const at::Tensor& bias) const {
  const int64_t heads = std::ssize(part.heads), D = rows_.dimensions();
  const at::Tensor places = at::tensor(part.heads, at::kLong);
  const at::Tensor w = (heads == heads_ ? weight : weight.index_select(0, places)).view({heads * classes_, D});
  const at::Tensor b = (heads == heads_ ? bias : bias.index_select(0, places)).view({heads * classes_, 1});
  PartSums sums{std::vector<double>(static_cast<size_t>(heads)), std::vector<double>(static_cast<size_t>(heads * classes_)), {}};
  for (const Block& block : part.blocks) {
    const at::Tensor x = rows_.block(block.begin, block.count), logits = at::addmm(b, w, x.t());
    kernels::add_softmax_residuals({heads, classes_, block.count, logits.mutable_data_ptr<float>(),
                                    labels_.const_data_ptr<int32_t>() + block.begin, block.weights.const_data_ptr<float>()},
                                   sums.losses.data(), sums.residuals.data());
    if (sums.gradients.defined()) {
      sums.gradients.addmm_(logits, x);
    } else {
      sums.gradients = logits.mm(x);
    }
  }
  return sums;
}

namespace {

constexpr int64_t kPredictedRows = 512;    // of a block
constexpr int64_t kHeadBytes = 256 << 20;  // of all descents at work, about
constexpr double kLogitNoise = 1e-7;       // of losses, whose logits are float32
constexpr int64_t kVectorsOfDescent = 26;  // ten pairs, point, trial, gradient, direction, scales

// The weights of all heads at one point, for standardised rows.
struct Stacked {
  at::Tensor weight;  // float32 [P, C, D]
  at::Tensor bias;    // float32 [P, C]
};

// One head on its way down; its coordinates are V and b, one after the other.
class HeadDescent {
 public:
  HeadDescent(const HeadProblem& problem, int64_t classes, int64_t dimensions)
      : problem_(problem),
        classes_(classes),
        dimensions_(dimensions),
        total_(problem.weights.sum(at::kDouble).item<double>()),
        descent_(std::vector<double>(static_cast<size_t>(classes * (dimensions + 1))),
                 std::vector<double>(static_cast<size_t>(classes * (dimensions + 1)), 1.0), kLogitNoise) {}

  const HeadProblem& problem() const { return problem_; }
  int64_t iterations() const { return descent_.iterations(); }

  at::Tensor point() const { return matrix_of(descent_.trial()); }  // V [C, D], where the next values are asked for
  LinearHead found() const { return composed(matrix_of(descent_.point()).mm(problem_.preconditioner), descent_.point()); }
  double objective() const { return descent_.value(); }

  // Takes W = V M of point(); returns the head on x.
  LinearHead trial(at::Tensor weight) {
    weight_ = std::move(weight);
    return composed(weight_, descent_.trial());
  }

  // The gradient in W at the trial, from the sums over the rows [C, D] and [C].
  at::Tensor slope(const at::Tensor& gradient, const at::Tensor& residual) const {
    return chained(gradient, residual) / total_ + problem_.l2 * weight_;
  }

  // `slope`: in V. True at the end.
  bool take(double loss, const at::Tensor& slope, const at::Tensor& residual, double tolerance) {
    const at::Tensor all = at::cat({slope.flatten(), residual / total_});
    const double value = loss / total_ + problem_.l2 / 2 * weight_.square().sum().item<double>();
    if (!std::isfinite(value)) throw numeric_error("fix: the loss of a head is {}; check the features", value);
    const double* first = all.const_data_ptr<double>();
    if (bound_ < 0) bound_ = tolerance * all.norm().item<double>();
    return descent_.take(value, {first, first + all.numel()}, bound_);
  }

 private:
  at::Tensor matrix_of(const std::vector<double>& point) const {
    return at::from_blob(const_cast<double*>(point.data()), {classes_, dimensions_}, at::kDouble);
  }

  // W r(x) + b as a head on x.
  LinearHead composed(const at::Tensor& weight, const std::vector<double>& point) const {
    const double* bias = point.data() + classes_ * dimensions_;
    const LinearHead head{weight, at::tensor(at::ArrayRef<double>(bias, static_cast<size_t>(classes_)), at::kDouble)};
    const AffineErasure* erasure = problem_.erasure.get();
    if (erasure == nullptr || erasure->rank() == 0) return head;
    const at::Tensor along = head.weight.mm(erasure->left);
    return {head.weight - along.mm(erasure->right), head.bias + along.mv(erasure->right.mv(erasure->mean))};
  }

  // The gradient in W of one in the composed head.
  at::Tensor chained(const at::Tensor& gradient, const at::Tensor& residual) const {
    const AffineErasure* erasure = problem_.erasure.get();
    if (erasure == nullptr || erasure->rank() == 0) return gradient;
    const at::Tensor along = gradient.mm(erasure->right.t()) - at::outer(residual, erasure->right.mv(erasure->mean));
    return gradient - along.mm(erasure->left.t());
  }

  const HeadProblem& problem_;
  int64_t classes_, dimensions_;
  double total_, bound_ = -1;
  Descent descent_;
  at::Tensor weight_;  // W at the trial
};

// Heads that share a preconditioner, by their places: one product turns all of them.
using Family = std::vector<size_t>;

std::vector<Family> families_of(const std::vector<HeadDescent*>& heads) {
  std::vector<Family> families;
  std::map<const void*, size_t> known;
  for (size_t p = 0; p < heads.size(); ++p) {
    const auto [found, is_new] = known.emplace(heads[p]->problem().preconditioner.const_data_ptr(), families.size());
    if (is_new) families.emplace_back();
    families[found->second].push_back(p);
  }
  return families;
}

Stacked stacked(const std::vector<HeadDescent*>& heads, const std::vector<Family>& families, int64_t classes, int64_t dimensions) {
  const int64_t P = std::ssize(heads);
  Stacked all{at::empty({P, classes, dimensions}, at::kFloat), at::empty({P, classes}, at::kFloat)};
  each_alone(std::ssize(families), [&](int64_t f) {
    const Family& family = families[static_cast<size_t>(f)];
    std::vector<at::Tensor> points;
    for (const size_t p : family) points.push_back(heads[p]->point());
    const at::Tensor turned = at::cat(points).mm(heads[family.front()]->problem().preconditioner);
    for (size_t i = 0; i < family.size(); ++i) {
      const auto place = static_cast<int64_t>(family[i]);
      const LinearHead head = heads[family[i]]->trial(turned.narrow(0, static_cast<int64_t>(i) * classes, classes));
      all.weight[place].copy_(head.weight);
      all.bias[place].copy_(head.bias);
    }
  });
  return all;
}

// True for each head that has converged.
std::vector<char> taken(const std::vector<HeadDescent*>& heads, const std::vector<Family>& families, const std::vector<HeadSums>& sums,
                        int64_t classes, double tolerance) {
  std::vector<char> done(heads.size());
  each_alone(std::ssize(families), [&](int64_t f) {
    const Family& family = families[static_cast<size_t>(f)];
    std::vector<at::Tensor> slopes;
    for (const size_t p : family) slopes.push_back(heads[p]->slope(sums[p].gradient, sums[p].residual));
    const at::Tensor turned = at::cat(slopes).mm(heads[family.front()]->problem().preconditioner.t());
    for (size_t i = 0; i < family.size(); ++i) {
      const size_t p = family[i];
      const at::Tensor slope = turned.narrow(0, static_cast<int64_t>(i) * classes, classes);
      done[p] = heads[p]->take(sums[p].loss, slope, sums[p].residual, tolerance);
    }
  });
  return done;
}

std::vector<at::Tensor> row_weights(const std::vector<HeadDescent*>& heads) {
  std::vector<at::Tensor> weights;
  for (const HeadDescent* head : heads) weights.push_back(head->problem().weights);
  return weights;
}

void descend(HeadPass& pass, std::vector<HeadDescent>& all, int64_t classes, int64_t dimensions, const HeadOptions& options,
             std::vector<bool>& converged) {
  std::vector<HeadDescent*> active;
  for (HeadDescent& head : all) active.push_back(&head);
  pass.use(row_weights(active));
  std::vector<Family> families = families_of(active);
  while (!active.empty()) {
    const Stacked point = stacked(active, families, classes, dimensions);
    const std::vector<char> done = taken(active, families, pass.sums(point.weight, point.bias), classes, options.tolerance);
    std::vector<HeadDescent*> left;
    for (size_t p = 0; p < active.size(); ++p) {
      if (done[p] != 0) converged[static_cast<size_t>(active[p] - all.data())] = true;
      if (done[p] == 0 && active[p]->iterations() < options.iterations) left.push_back(active[p]);
    }
    if (left.size() == active.size()) continue;
    active = std::move(left);
    if (active.empty()) return;
    pass.use(row_weights(active));
    families = families_of(active);
  }
}

}  // namespace

std::vector<HeadFit> fit_heads(const StandardRows& rows, const at::Tensor& labels, int64_t classes,
                               const std::vector<HeadProblem>& problems, const HeadOptions& options) {
  const at::NoGradGuard no_grad;
  const int64_t D = rows.dimensions(), bytes = kVectorsOfDescent * classes * (D + 1) * static_cast<int64_t>(sizeof(double));
  const int64_t together = std::max<int64_t>(1, kHeadBytes / bytes);
  HeadPass pass(rows, labels, classes);
  std::vector<HeadFit> fits;
  for (int64_t begin = 0; begin < std::ssize(problems); begin += together) {
    std::vector<HeadDescent> heads;
    for (int64_t p = begin; p < std::min(begin + together, std::ssize(problems)); ++p) {
      heads.emplace_back(problems[static_cast<size_t>(p)], classes, D);
    }
    std::vector<bool> converged(heads.size());
    descend(pass, heads, classes, D, options, converged);
    for (size_t p = 0; p < heads.size(); ++p) {
      fits.push_back({heads[p].found(), converged[p], heads[p].iterations(), heads[p].objective()});
    }
  }
  return fits;
}

std::vector<int64_t> predicted_by(const LinearHead& head, const StandardRows& rows, int64_t begin, int64_t count) {
  const at::Tensor weight = head.weight.to(at::kFloat), bias = head.bias.to(at::kFloat);
  const int64_t blocks = (count + kPredictedRows - 1) / kPredictedRows;
  std::vector<int64_t> predictions(static_cast<size_t>(count));
  each_alone(blocks, [&](int64_t block) {
    const int64_t first = block * kPredictedRows, size = std::min(kPredictedRows, count - first);
    const at::Tensor logits = at::addmm(bias, rows.block(begin + first, size), weight.t());
    const std::vector<int64_t> of_block = predicted_classes(logits);
    std::copy(of_block.begin(), of_block.end(), predictions.begin() + first);
  });
  return predictions;
}

LinearHead unstandardised(const LinearHead& head, const StandardScale& scale) {
  const at::Tensor weight = head.weight / scale.deviation;
  return {weight, head.bias - weight.mv(scale.mean)};
}

}  // namespace debias
