#include "debias/fix/weighted_heads.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "debias/core/error.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/descent.h"
#include "debias/fix/each_alone.h"

namespace debias {
namespace {

constexpr int64_t kHeadRows = 512;         // of a block
constexpr int64_t kMostHeadSums = 16;      // parts of the rows, each with sums of its own
constexpr int64_t kHeadBytes = 256 << 20;  // of all descents at work, about
constexpr double kLogitNoise = 1e-7;       // of losses, whose logits are float32
constexpr int64_t kVectorsOfDescent = 26;  // ten pairs, point, trial, gradient, direction, scales

struct PartSums {
  at::Tensor losses;     // double [P]
  at::Tensor gradients;  // double [P C, D]: of residuals times rows
  at::Tensor residuals;  // double [P, C]
};

// The weights of all problems at one point, for standardised rows.
struct Stacked {
  at::Tensor weight;   // float32 [P C, D]
  at::Tensor bias;     // float32 [P C]
  at::Tensor weights;  // float32 [n, P]: of rows
};

class SharedPass {
 public:
  SharedPass(const StandardRows& rows, const at::Tensor& labels, int64_t classes) : rows_(rows), labels_(labels), classes_(classes) {}

  PartSums sums(const Stacked& at) const {
    const int64_t n = rows_.size(), blocks = (n + kHeadRows - 1) / kHeadRows;
    const int64_t of_part = (blocks + kMostHeadSums - 1) / kMostHeadSums * kHeadRows, parts = (n + of_part - 1) / of_part;
    std::vector<PartSums> found(static_cast<size_t>(parts));
    each_alone(parts, [&](int64_t part) {
      found[static_cast<size_t>(part)] = sums_over(at, part * of_part, std::min(of_part, n - part * of_part));
    });
    PartSums total = std::move(found.front());
    for (size_t part = 1; part < found.size(); ++part) {
      total.losses += found[part].losses;
      total.gradients += found[part].gradients;
      total.residuals += found[part].residuals;
    }
    return total;
  }

 private:
  PartSums sums_over(const Stacked& at, int64_t begin, int64_t count) const {
    const int64_t P = at.weights.size(1);
    PartSums sums{at::zeros({P}, at::kDouble), {}, at::zeros({P, classes_}, at::kDouble)};
    at::Tensor gradients = at::zeros(at.weight.sizes(), at::kFloat);
    for (int64_t first = begin; first < begin + count; first += kHeadRows) {
      const int64_t size = std::min(kHeadRows, begin + count - first);
      const at::Tensor x = rows_.block(first, size), w = at.weights.narrow(0, first, size);
      const at::Tensor y = labels_.narrow(0, first, size).view({size, 1, 1}).expand({size, P, 1});
      const at::Tensor log_p = at::log_softmax(at::addmm(at.bias, x, at.weight.t()).view({size, P, classes_}), 2);
      sums.losses -= (log_p.gather(2, y).squeeze(2) * w).sum(at::IntArrayRef{0}, false, at::kDouble);
      at::Tensor residual = log_p.exp();
      residual.scatter_add_(2, y, at::full({size, P, 1}, -1.0, at::kFloat));
      residual.mul_(w.unsqueeze(2));
      sums.residuals += residual.sum(at::IntArrayRef{0}, false, at::kDouble);
      gradients.addmm_(residual.view({size, P * classes_}).t(), x);
    }
    sums.gradients = gradients.to(at::kDouble);
    return sums;
  }

  const StandardRows& rows_;
  at::Tensor labels_;
  int64_t classes_;
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

Stacked stacked(const std::vector<HeadDescent*>& heads, const std::vector<Family>& families, const at::Tensor& weights, int64_t classes,
                int64_t dimensions) {
  const int64_t P = std::ssize(heads);
  Stacked all{at::empty({P * classes, dimensions}, at::kFloat), at::empty({P * classes}, at::kFloat), weights};
  each_alone(std::ssize(families), [&](int64_t f) {
    const Family& family = families[static_cast<size_t>(f)];
    std::vector<at::Tensor> points;
    for (const size_t p : family) points.push_back(heads[p]->point());
    const at::Tensor turned = at::cat(points).mm(heads[family.front()]->problem().preconditioner);
    for (size_t i = 0; i < family.size(); ++i) {
      const auto row = static_cast<int64_t>(family[i]) * classes;
      const LinearHead head = heads[family[i]]->trial(turned.narrow(0, static_cast<int64_t>(i) * classes, classes));
      all.weight.narrow(0, row, classes).copy_(head.weight);
      all.bias.narrow(0, row, classes).copy_(head.bias);
    }
  });
  return all;
}

// True for each head that has converged.
std::vector<char> taken(const std::vector<HeadDescent*>& heads, const std::vector<Family>& families, const PartSums& sums, int64_t classes,
                        double tolerance) {
  const double* losses = sums.losses.const_data_ptr<double>();
  std::vector<char> done(heads.size());
  each_alone(std::ssize(families), [&](int64_t f) {
    const Family& family = families[static_cast<size_t>(f)];
    std::vector<at::Tensor> slopes;
    for (const size_t p : family) {
      const auto place = static_cast<int64_t>(p);
      slopes.push_back(heads[p]->slope(sums.gradients.narrow(0, place * classes, classes), sums.residuals.select(0, place)));
    }
    const at::Tensor turned = at::cat(slopes).mm(heads[family.front()]->problem().preconditioner.t());
    for (size_t i = 0; i < family.size(); ++i) {
      const size_t p = family[i];
      const at::Tensor slope = turned.narrow(0, static_cast<int64_t>(i) * classes, classes);
      done[p] = heads[p]->take(losses[p], slope, sums.residuals.select(0, static_cast<int64_t>(p)), tolerance);
    }
  });
  return done;
}

at::Tensor row_weights(const std::vector<HeadDescent*>& heads) {
  std::vector<at::Tensor> columns;
  for (const HeadDescent* head : heads) columns.push_back(head->problem().weights);
  return at::stack(columns, 1);
}

void descend(const SharedPass& pass, std::vector<HeadDescent>& all, int64_t classes, int64_t dimensions, const HeadOptions& options,
             std::vector<bool>& converged) {
  std::vector<HeadDescent*> active;
  for (HeadDescent& head : all) active.push_back(&head);
  at::Tensor weights = row_weights(active);
  std::vector<Family> families = families_of(active);
  while (!active.empty()) {
    const PartSums sums = pass.sums(stacked(active, families, weights, classes, dimensions));
    const std::vector<char> done = taken(active, families, sums, classes, options.tolerance);
    std::vector<HeadDescent*> left;
    for (size_t p = 0; p < active.size(); ++p) {
      if (done[p] != 0) converged[static_cast<size_t>(active[p] - all.data())] = true;
      if (done[p] == 0 && active[p]->iterations() < options.iterations) left.push_back(active[p]);
    }
    if (left.size() == active.size()) continue;
    active = std::move(left);
    if (active.empty()) return;
    weights = row_weights(active);
    families = families_of(active);
  }
}

}  // namespace

at::Tensor head_preconditioner(const at::Tensor& covariance, double l2) {
  const OneThread alone;
  const at::NoGradGuard no_grad;
  at::Tensor bound = covariance / 2;
  bound.diagonal().add_(l2 + 1e-9);
  const at::Tensor factor = at::linalg_cholesky(bound);
  return at::linalg_solve_triangular(factor, at::eye(covariance.size(0), at::kDouble), /*upper=*/false).contiguous();
}

std::vector<HeadFit> fit_heads(const StandardRows& rows, const at::Tensor& labels, int64_t classes,
                               const std::vector<HeadProblem>& problems, const HeadOptions& options) {
  const at::NoGradGuard no_grad;
  const int64_t D = rows.dimensions(), bytes = kVectorsOfDescent * classes * (D + 1) * static_cast<int64_t>(sizeof(double));
  const int64_t together = std::max<int64_t>(1, kHeadBytes / bytes);
  const SharedPass pass(rows, labels, classes);
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
  const int64_t blocks = (count + kHeadRows - 1) / kHeadRows;
  std::vector<int64_t> predictions(static_cast<size_t>(count));
  each_alone(blocks, [&](int64_t block) {
    const int64_t first = block * kHeadRows, size = std::min(kHeadRows, count - first);
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
