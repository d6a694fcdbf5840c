#include "debias/fix/fairkl_head.h"

#include <ATen/ATen.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/evaluate/descent.h"
#include "debias/losses/fairkl.h"
#include "debias/losses/over_classes.h"
#include "debias/runtime/each_alone.h"

namespace debias {
namespace {

constexpr int64_t kProjected = 64, kSteps = 60;
constexpr double kLearningRate = 2e-3;

// As many rows of each group as of any other, as far as they reach; ascending.
std::vector<int64_t> balanced_rows(const std::vector<int64_t>& groups, uint64_t seed) {
  std::map<int64_t, std::vector<int64_t>> members;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] != kUnknown) members[groups[i]].push_back(static_cast<int64_t>(i));
  }
  const int64_t share = std::max<int64_t>(2, kFairklRows / std::max<int64_t>(1, std::ssize(members)));
  std::vector<int64_t> chosen;
  for (const auto& [group, own] : members) {
    const std::vector<int64_t> order =
        permutation(std::ssize(own), {.domain = RngDomain::kEvaluate, .seed = seed, .sample = static_cast<uint64_t>(group)});
    for (int64_t i = 0; i < std::min(share, std::ssize(own)); ++i)
      chosen.push_back(own[static_cast<size_t>(order[static_cast<size_t>(i)])]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

at::Tensor first_projection(int64_t dimensions, uint64_t seed) {
  at::Tensor projection = at::empty({dimensions, kProjected}, at::kFloat);
  Random random({.domain = RngDomain::kInit, .seed = seed});
  float* value = projection.mutable_data_ptr<float>();
  for (int64_t i = 0; i < projection.numel(); ++i)
    value[i] = static_cast<float>(random.normal() / std::sqrt(static_cast<double>(dimensions)));
  return projection;
}

at::Tensor trained_projection(const at::Tensor& x, const at::Tensor& labels, const at::Tensor& biases, uint64_t seed) {
  const OneThread alone;
  at::Tensor projection = first_projection(x.size(1), seed).requires_grad_(true);
  torch::optim::Adam adam(std::vector<at::Tensor>{projection}, torch::optim::AdamOptions(kLearningRate));
  for (int64_t step = 0; step < kSteps; ++step) {
    const at::Tensor rows = x.mm(projection);
    const at::Tensor z = (rows / rows.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12)).unsqueeze(1);
    const at::Tensor loss = eps_supinfonce(z, labels).value + fairkl(z, labels, biases).value;
    if (!std::isfinite(loss.item<double>())) throw numeric_error("fix: FairKL's loss is not finite; choose another --method");
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  return projection.detach();
}

}  // namespace

LinearHead fit_fairkl_head(const FitRows& rows, int64_t biases, double l2, uint64_t seed) {
  const std::vector<int64_t> chosen = balanced_rows(rows.groups, seed);
  std::vector<int64_t> values;
  for (const int64_t i : chosen) values.push_back(rows.groups[static_cast<size_t>(i)] % biases);
  const at::Tensor places = at::tensor(chosen, at::kLong);
  const StandardRows selected = rows.x.selected(chosen);
  const at::Tensor projection =
      trained_projection(selected.block(0, selected.size()), rows.targets.index_select(0, places), at::tensor(values, at::kLong), seed);
  const at::NoGradGuard no_grad;
  at::Tensor projected = at::empty({rows.size(), kProjected}, at::kFloat);
  each_alone((rows.size() + 511) / 512, [&](int64_t block) {
    const int64_t begin = block * 512, count = std::min<int64_t>(512, rows.size() - begin);
    projected.narrow(0, begin, count).copy_(rows.x.block(begin, count).mm(projection));
  });
  const StandardRows standard(projected);
  const HeadProblem problem{rows.balanced.to(at::kFloat), l2, head_preconditioner(at::eye(kProjected, at::kDouble), l2), nullptr};
  const LinearHead head = unstandardised(fit_heads(standard, rows.targets, rows.classes, {problem}).front().head, standard.scale());
  return {head.weight.mm(projection.to(at::kDouble).t()), head.bias};
}

}  // namespace debias
