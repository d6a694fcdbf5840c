// Group moments are formed on several threads: whatever state the caller's thread has, the numbers are those of one thread.
#include "debias/losses/group_moments.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "debias/losses/fairkl.h"
#include "tests/support/embeddings.h"

namespace debias {
namespace group_moments_test {

// Threads of the arithmetic, as before when it ends.
class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

struct Batch {
  at::Tensor z = random_embeddings(40, 2, 6, 3), labels = at::arange(40, at::kLong).remainder(3),
             bias = at::arange(40, at::kLong).remainder(4);
};

std::vector<FairKlOptions> modes() {
  std::vector<FairKlOptions> all;
  for (const auto& [name, mode] : EnumNames<FairKlMode>::values) {
    all.push_back(FairKlOptions{.mode = mode});
    if (mode != FairKlMode::kAuthors) all.push_back(FairKlOptions{.mode = mode, .pooling = FairKlPooling::kAnchor});
  }
  return all;
}

double value(const Batch& batch, const FairKlOptions& options) {
  return fairkl(batch.z, batch.labels, batch.bias, options).value.item<double>();
}

TEST(GroupMoments, WorkInInferenceModeOnTwoThreads) {
  const Threads two(2);
  const Batch batch;
  for (const auto& options : modes()) {
    const double expected = value(batch, options);
    const c10::InferenceMode inference;
    EXPECT_EQ(value(batch, options), expected) << enum_name(options.chosen_mode());
    EXPECT_EQ(value(Batch{}, options), expected) << enum_name(options.chosen_mode());  // rows made in inference mode
  }
}

TEST(GroupMoments, ThreadsChangeNeitherValueNorGradient) {
  const Batch batch;
  for (const auto& options : modes()) {
    std::vector<at::Tensor> values, gradients;
    for (const int count : {1, 2}) {
      const Threads threads(count);
      const at::Tensor leaf = batch.z.clone().requires_grad_(true);
      const at::Tensor found = fairkl(leaf, batch.labels, batch.bias, options).value;
      found.backward();
      values.push_back(found.detach());
      gradients.push_back(leaf.grad());
    }
    EXPECT_NEAR(values[0].item<double>(), values[1].item<double>(), 1e-14 * std::abs(values[0].item<double>()));
    EXPECT_TRUE(at::allclose(gradients[0], gradients[1], 1e-12, 1e-15)) << enum_name(options.chosen_mode());
  }
}

at::Tensor gradient_of(const at::Tensor& sum, const at::Tensor& leaf) {
  sum.backward();
  return leaf.grad();
}

TEST(GroupMoments, OuterProductsHaveTheGradientOfTheirDefinition) {
  for (const int64_t d : {1, 5}) {
    const std::vector<int64_t> sizes = {1, 4, 2};
    const at::Tensor rows = at::randn({7, d}, at::kDouble), weights = at::randn({3, d, d}, at::kDouble).transpose(1, 2);
    const at::Tensor own = rows.clone().requires_grad_(true), plain = rows.clone().requires_grad_(true);
    std::vector<at::Tensor> expected;
    for (const at::Tensor& run : plain.split_with_sizes(sizes)) expected.push_back(run.t().mm(run));
    EXPECT_TRUE(at::allclose(outer_products(own, sizes), at::stack(expected), 1e-13, 1e-14));
    EXPECT_TRUE(at::allclose(gradient_of((outer_products(own, sizes) * weights).sum(), own),
                             gradient_of((at::stack(expected) * weights).sum(), plain), 1e-13, 1e-14));
  }
}

// What ATen's own product and weighted sum give, to the last bit: a run of FairKL repeats from one version to the next.
TEST(GroupMoments, SquaredProductsHaveTheBitsOfAtensOperators) {
  const Threads one(1);
  const at::Tensor labels = integers({0, 0, 0, 1, 1, 1, 1, 2, 2}), bias = integers({0, 0, 1, 0, 1, 1, 1, 0, 1});
  const KeyGroups groups = key_groups(labels, bias);
  for (const int64_t d : {3, 8, 65}) {
    const at::Tensor rows = at::randn({9, d}, at::kDouble), weights = at::tensor({0.3, -1.7, 0.013, 2.9}, at::kDouble);
    const at::Tensor leaf = rows.clone().requires_grad_(true);
    const at::Tensor found = gradient_of((squared_products(leaf, groups) * weights).sum(), leaf);
    std::vector<at::Tensor> grams;
    at::Tensor expected = at::empty_like(rows);  // MKL's bits depend on where a result begins
    for (const at::Tensor& run : rows.split_with_sizes(groups.sizes)) grams.push_back(run.t().mm(run));
    const at::Tensor own = at::stack(grams), of_label = merged(own, groups, Merged::kLabels),
                     of_bias = merged(own, groups, Merged::kBiases);
    const at::Tensor of_all = merged(of_label, groups, Merged::kAll)[0] * (4 * 2.9);
    const auto runs = rows.split_with_sizes(groups.sizes), results = expected.split_with_sizes(groups.sizes);
    for (int64_t g = 0; g < groups.label.size(0); ++g) {
      at::Tensor slope = at::add(of_all, own[g], 4 * 0.3).add_(of_label[groups.label[g].item<int64_t>()], 4 * -1.7);
      slope.add_(of_bias[groups.bias[g].item<int64_t>()], 4 * 0.013);
      at::Tensor result = results[static_cast<size_t>(g)];
      at::mm_out(result, runs[static_cast<size_t>(g)], slope);
    }
    EXPECT_TRUE(found.equal(expected)) << d;
  }
}

}  // namespace group_moments_test
}  // namespace debias
