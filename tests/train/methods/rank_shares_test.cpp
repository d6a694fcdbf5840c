// What ranks do together in a step: batch normalisation over the rows of all, and shares of the loss's pairs.
#include "debias/train/methods/rank_shares.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "debias/core/registry.h"
#include "debias/encoders/encoder.h"
#include "debias/losses/objective.h"
#include "tests/support/embeddings.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/rank_training.h"

namespace debias {
namespace rank_shares_test {

using testing::HasSubstr;

at::Tensor ripples(at::IntArrayRef shape, double pace) {
  return at::sin(at::arange(c10::multiply_integers(shape), at::kFloat) * pace).reshape(shape);
}

void expect_close(const at::Tensor& found, const at::Tensor& expected, const std::string& what, double tolerance = 2e-6) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  const double farthest = (found - expected).abs().max().item<double>(), largest = expected.abs().max().item<double>();
  EXPECT_LE(farthest, tolerance * (1 + largest)) << what;
}

// A layer's output, statistics and gradients.
struct Normalised {
  Normalised(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& dy) : layer(x.size(1)) {
    layer->to(x.scalar_type());
    layer->weight.data().add_(ripples({x.size(1)}, 0.9) * 0.3);
    layer->bias.data().add_(ripples({x.size(1)}, 1.7));
    at::Tensor in = x.clone(at::MemoryFormat::Preserve).requires_grad_(),
               beside = residual.clone(at::MemoryFormat::Preserve).requires_grad_();
    y = normalised(*layer, in, {.residual = beside, .activation = Activation::kRelu});
    y.backward(dy.to(y.scalar_type()));
    dx = in.grad();
    dresidual = beside.grad();
  }
  torch::nn::BatchNorm2d layer;
  at::Tensor y, dx, dresidual;
};

TEST(NormRanks, NormaliseAndDifferentiateAsOneProcess) {
  constexpr int64_t kRows = 7;
  const at::Tensor x = ripples({kRows, 6, 3, 3}, 0.31) + ripples({1, 6, 1, 1}, 2.0) * 3, residual = ripples(x.sizes(), 0.77),
                   dy = ripples(x.sizes(), 1.13);
  // In the fused walks, and in ATen's operators.
  for (const auto& [format, type] : {std::pair{at::MemoryFormat::ChannelsLast, at::kFloat},
                                     {at::MemoryFormat::Contiguous, at::kFloat},
                                     {at::MemoryFormat::ChannelsLast, at::kDouble}}) {
    const auto laid = [&, format = format, type = type](const at::Tensor& map) { return map.to(type).contiguous(format); };
    const Normalised whole(laid(x), laid(residual), dy);
    on_ranks(3, [&](const Ranks& ranks) {
      const auto peers = norm_peers(ranks);
      const SharedNorm shared(peers.get());
      const RowRange share = ranks.share_of(kRows);
      const auto own = [&](const at::Tensor& map) { return map.slice(0, share.begin, share.end); };
      const Normalised part(laid(own(x)), laid(own(residual)), own(dy));
      expect_close(ranks.gather_rows(part.y.detach().contiguous(), kRows), whole.y.detach(), "y");
      expect_close(ranks.gather_rows(part.dx.contiguous(), kRows), whole.dx, "dx");
      expect_close(ranks.gather_rows(part.dresidual.contiguous(), kRows), whole.dresidual, "dresidual");
      expect_close(part.layer->running_mean, whole.layer->running_mean, "running mean");
      expect_close(part.layer->running_var, whole.layer->running_var, "running variance");
      const at::Tensor weight = part.layer->weight.grad().clone(), bias = part.layer->bias.grad().clone();
      ranks.sum_ordered({weight, bias});
      expect_close(weight, whole.layer->weight.grad(), "weight");
      expect_close(bias, whole.layer->bias.grad(), "bias");
    });
  }
}

// In double no rounding hides what is wrong: twenty layers, with their sums and branches.
struct DifferentiatedResNet {
  DifferentiatedResNet(const at::Tensor& images, const at::Tensor& dy)
      : network(read_encoder(parse_yaml("{name: resnet18, stem: cifar, width: 8}", "encoder")).make(3, 1)) {
    network->to(at::kDouble);
    y = network->forward(images);
    y.backward(dy);
  }
  std::shared_ptr<Encoder> network;
  at::Tensor y;
};

TEST(NormRanks, MakeAResNetThatOfOneProcess) {
  constexpr int64_t kRows = 7;
  const at::Tensor images = ripples({kRows, 3, 8, 8}, 0.31).to(at::kDouble), dy = ripples({kRows, 64}, 1.13).to(at::kDouble);
  const DifferentiatedResNet whole(images, dy);
  for (const int64_t W : {2, 3}) {
    on_ranks(W, [&](const Ranks& ranks) {
      const auto peers = norm_peers(ranks);
      const SharedNorm shared(peers.get());
      const RowRange share = ranks.share_of(kRows);
      const DifferentiatedResNet part(images.slice(0, share.begin, share.end), dy.slice(0, share.begin, share.end));
      expect_close(ranks.gather_rows(part.y.detach().contiguous(), kRows), whole.y.detach(), "y", 1e-12);
      const auto expected = whole.network->named_parameters();
      for (const auto& parameter : part.network->named_parameters()) {
        const at::Tensor gradient = parameter.value().grad().clone();
        ranks.sum_ordered({gradient});
        expect_close(gradient, expected[parameter.key()].grad(), parameter.key(), 1e-11);
      }
      const auto buffers = whole.network->named_buffers();
      for (const auto& buffer : part.network->named_buffers()) {
        if (buffer.value().is_floating_point()) expect_close(buffer.value(), buffers[buffer.key()], buffer.key(), 1e-12);
      }
    });
  }
}

// How far two runs' tensors lie from each other, as |x - y| / (1 + |x|).
double farthest(const std::string& a, const std::string& b) {
  const auto in_a = tensors_of(a + "/checkpoints/last.safetensors"), in_b = tensors_of(b + "/checkpoints/last.safetensors");
  EXPECT_EQ(in_a.size(), in_b.size());
  double found = 0;
  for (size_t i = 0; i < std::min(in_a.size(), in_b.size()); ++i) {
    const auto& [name, bytes] = in_a[i];
    if (name.ends_with("num_batches_tracked") ||
        !(name.starts_with("encoder.") || name.starts_with("head.") || name.starts_with("classifier"))) {
      continue;
    }
    for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
      float x = 0, y = 0;
      std::memcpy(&x, bytes.data() + at, sizeof x);
      std::memcpy(&y, in_b[i].second.data() + at, sizeof y);
      found = std::max(found, std::abs(static_cast<double>(x) - y) / (1 + std::abs(x)));
    }
  }
  return found;
}

// One step of gradient descent on a batch of 16: Adam makes steps of full size of gradients that are rounding errors.
Config one_step(const std::vector<std::string>& words) {
  const Config root = changed(
      batches_of(16, 1), {"data.train.train_count=16", "optimizer={name: sgd, learning_rate: 0.01, momentum: 0}", "train.log_every=1"});
  return changed(root, words);
}

void expect_one_process(int64_t W, const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  const Config root = one_step(words);
  train_on_ranks(in_folder(root, folder.path() + "/ranks"), W);
  train(input_for(in_folder(root, folder.path() + "/one")));
  EXPECT_LE(farthest(folder.path() + "/ranks", folder.path() + "/one"), 1e-6) << W;
  EXPECT_NEAR(metric_lines(folder.path() + "/ranks")[0]["loss"].get<double>(),
              metric_lines(folder.path() + "/one")[0]["loss"].get<double>(), 1e-5);
}

TEST(RanksTogether, AreOnePlainProcessAfterAStep) {
  for (const int64_t W : {2, 3, 4}) expect_one_process(W, {});
  expect_one_process(2, {"views.forward=joint", "classifier={name: linear, gradient: flow}", "train.channels_last=false"});
  expect_one_process(8, {"train.batch_size=8", "data.train.train_count=8"});  // one image each
  expect_one_process(2, {"method={name: moco, queue: 48}"});
}

TEST(RanksTogether, ComputeLossesOfOwnRowsAlone) {
  expect_one_process(3, {"train.loss_rows=own"});
  expect_one_process(2, {"train.loss_rows=own", "objective=[{name: eps_supinfonce}, {name: fairkl, mode: mean, weight: 0.1}]",
                         "data.train.correlation=0.8"});
  expect_one_process(2, {"train.loss_rows=own", "method={name: moco, queue: 48}"});
}

// Every objective over pairs, in blocks of a few rows.
class OwnLossRows : public testing::TestWithParam<std::string> {
 protected:
  static constexpr int64_t kSamples = 14;

  static const ObjectiveEntry& entry() { return find_entry(objective_registry(), GetParam(), "objective"); }

  static ObjectiveInput input_of(const at::Tensor& z, const RowShare* share) {
    ObjectiveInput input = {.z = z,
                            .labels = at::arange(kSamples, at::kLong).remainder(3),
                            .bias = at::arange(kSamples, at::kLong).div(2, "floor").remainder(2)};
    if (entry().needs_bias_features) input.weights = ripples({kSamples, 3}, 0.7) + 1.1;  // no draws on ranks' threads
    input.engine = Engine::kBlocked;
    input.memory_budget = 4 * 5 * 2 * kSamples * static_cast<int64_t>(sizeof(float));
    input.row_share = share;
    return input;
  }
  static at::Tensor loss(const ObjectiveInput& input) { return (*entry().make(parse_yaml("{}", "term"), {}))(input).value; }
};

TEST_P(OwnLossRows, HaveTheLossAndTheGradientOfAll) {
  const at::Tensor z = random_embeddings(kSamples, 2, 8, 3).to(at::kFloat), whole = z.clone().requires_grad_();
  const at::Tensor expected = loss(input_of(whole, nullptr));
  expected.backward();
  // Sums whose gradient needs two products add those of the ranks' blocks, the others have one owner a row.
  const bool is_added = GetParam().starts_with("eps_") || GetParam() == "bayesian";
  for (const int64_t W : {2, 3, 4}) {
    on_ranks(W, [&](const Ranks& ranks) {
      const auto share = row_share(ranks);
      const at::Tensor own = z.clone().requires_grad_(), found = loss(input_of(own, share.get()));
      found.backward();
      EXPECT_TRUE(found.equal(expected)) << W;
      if (is_added) {
        expect_close(own.grad(), whole.grad(), GetParam(), 1e-6);
      } else {
        EXPECT_TRUE(own.grad().equal(whole.grad())) << W;
      }
      EXPECT_GT(ranks.traffic(Ranks::Channel::kRows).calls, 0);  // the work was shared
    });
  }
}

TEST_P(OwnLossRows, HaveTheGradientOfKeys) {
  if (!find_entry(objective_registry(), GetParam(), "objective").takes_keys) GTEST_SKIP() << "takes no keys";
  const at::Tensor z = random_embeddings(kSamples, 1, 8, 3).to(at::kFloat),
                   keys = random_embeddings(2 * kSamples, 1, 8, 5).squeeze(1).to(at::kFloat);
  const auto with_keys = [&](const at::Tensor& anchors, const at::Tensor& of, const RowShare* share) {
    ObjectiveInput input = input_of(anchors, share);
    input.keys = of;
    input.key_samples = at::arange(2 * kSamples, at::kLong).remainder(kSamples);
    input.key_labels = input.key_samples.remainder(3);
    return loss(input);
  };
  const at::Tensor whole = keys.clone().requires_grad_(), anchors = z.clone().requires_grad_();
  with_keys(anchors, whole, nullptr).backward();
  on_ranks(2, [&](const Ranks& ranks) {
    const auto share = row_share(ranks);
    const at::Tensor own = keys.clone().requires_grad_(), of = z.clone().requires_grad_();
    with_keys(of, own, share.get()).backward();
    expect_close(own.grad(), whole.grad(), "keys", 1e-6);
    EXPECT_TRUE(of.grad().equal(anchors.grad()));
  });
}

std::vector<std::string> names_of_pair_objectives() {
  std::vector<std::string> names;
  for (const auto& entry : objective_registry()) {
    if (entry.kind == InputKind::kPairs) names.push_back(entry.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, OwnLossRows, testing::ValuesIn(names_of_pair_objectives()), [](const auto& test) { return test.param; });

}  // namespace rank_shares_test
}  // namespace debias
