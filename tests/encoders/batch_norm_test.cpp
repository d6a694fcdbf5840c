// Fused batch normalisation against its definition in ATen, in double: shapes straddle the packing of channels (64) and the vectors
// (8 and 16 floats); 5 x 41 x 41 positions make several blocks. Errors are measured against the largest entry.
#include "debias/encoders/batch_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "tests/encoders/modules.h"

namespace debias {
namespace batch_norm_test {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

at::Tensor waves(at::IntArrayRef shape, double pace) {
  return at::sin(at::arange(c10::multiply_integers(shape), at::kDouble) * pace).reshape(shape);
}

// A layer in training whose parameters and statistics are not the initial ones.
torch::nn::BatchNorm2d worn_layer(int64_t channels) {
  torch::nn::BatchNorm2d norm(channels);
  norm->to(at::kDouble);
  const at::NoGradGuard no_grad;
  norm->weight.add_(waves({channels}, 0.9) * 0.3);
  norm->bias.add_(waves({channels}, 1.7));
  norm->running_mean.add_(waves({channels}, 2.3));
  norm->running_var.add_(waves({channels}, 0.4) * 0.5);
  return norm;
}

struct Given {
  at::IntArrayRef shape;
  bool summed;
  std::optional<Activation> activation;
  bool training = true;
  double offset = 3;  // of x from 0
};

struct Found {
  at::Tensor y, dx, dweight, dbias, dresidual, running_mean, running_var;
};

at::Tensor laid_out(const at::Tensor& x, at::ScalarType type) {
  return x.to(type).contiguous(x.dim() == 4 ? kLast : at::MemoryFormat::Contiguous);
}

enum class Form { kFused, kPlain };

template <class Norm>
at::Tensor output_of(Norm& norm, const at::Tensor& x, const AfterNorm& after, Form form) {
  if (form == Form::kFused) return normalised(norm, x, after);
  at::Tensor y = norm.forward(x);
  if (after.residual.defined()) y = y + after.residual;
  if (!after.activation) return y;
  return *after.activation == Activation::kRelu ? at::relu(y) : at::tanh(y);
}

Found computed(const Given& given, at::ScalarType type, Form form = Form::kFused) {
  auto norm = worn_layer(given.shape[1]);
  norm->to(type == at::kBFloat16 ? at::kFloat : type);
  torch::nn::BatchNorm1d flat(given.shape[1]);  // the same parameters and statistics, for rows
  flat->weight = norm->weight;
  flat->bias = norm->bias;
  flat->running_mean = norm->running_mean;
  flat->running_var = norm->running_var;
  norm->train(given.training);
  flat->train(given.training);
  // What bfloat16 sees is rounded for the others, too.
  const auto input = [&](double pace, double offset) { return laid_out((waves(given.shape, pace) * 2 + offset).to(at::kBFloat16), type); };
  const at::Tensor x = input(0.31, given.offset).requires_grad_(), residual = input(0.83, 0).requires_grad_();
  const AfterNorm after{given.summed ? residual : at::Tensor(), given.activation};
  const at::Tensor y = x.dim() == 4 ? output_of(*norm, x, after, form) : output_of(*flat, x, after, form);
  y.backward(laid_out(waves(given.shape, 1.3).to(at::kBFloat16), type));
  return {y.detach(), x.grad(), norm->weight.grad(), norm->bias.grad(), residual.grad(), norm->running_mean, norm->running_var};
}

double error_of(const at::Tensor& found, const at::Tensor& expected) {
  return (found.to(at::kDouble) - expected).abs().max().item<double>() / (expected.abs().max().item<double>() + 1e-30);
}

void expect_near(const at::Tensor& found, const at::Tensor& expected, double tolerance, const char* what, const Given& given) {
  ASSERT_EQ(found.defined(), expected.defined()) << what;
  if (!found.defined()) return;
  EXPECT_LT(error_of(found, expected), tolerance)
      << what << " of [" << given.shape << "], summed " << given.summed << ", training " << given.training << ", activation "
      << (given.activation ? static_cast<int>(*given.activation) : -1);
}

std::vector<std::pair<const char*, at::Tensor>> parts_of(const Found& found) {
  return {{"y", found.y},
          {"dx", found.dx},
          {"dweight", found.dweight},
          {"dbias", found.dbias},
          {"dresidual", found.dresidual},
          {"running_mean", found.running_mean},
          {"running_var", found.running_var}};
}

// 1e-6, or as near as ATen comes in single precision: channels whose values hardly differ lose digits everywhere.
void expect_as_near_as_plain(const Given& given) {
  const auto found = parts_of(computed(given, at::kFloat)), plain = parts_of(computed(given, at::kFloat, Form::kPlain));
  const auto expected = parts_of(computed(given, at::kDouble, Form::kPlain));
  for (size_t i = 0; i < found.size(); ++i) {
    const double own = found[i].second.defined() ? error_of(plain[i].second, expected[i].second) : 0;
    expect_near(found[i].second, expected[i].second, std::max(1e-6, 4 * own), found[i].first, given);
  }
}

TEST(BatchNorm, IsItsDefinition) {
  for (const int64_t channels : {1, 3, 8, 16, 17, 24, 64, 100}) {
    for (const bool training : {true, false}) {
      const int64_t small[] = {2, channels, 3, 5}, flat[] = {37, channels};
      for (const at::IntArrayRef shape : {at::IntArrayRef(small), at::IntArrayRef(flat)}) {
        for (const bool summed : {false, true}) {
          for (const auto activation : {std::optional<Activation>(), std::optional(Activation::kRelu), std::optional(Activation::kTanh)}) {
            expect_as_near_as_plain({shape, summed, activation, training});
          }
        }
      }
    }
  }
}

TEST(BatchNorm, OfSeveralBlocksIsItsDefinition) {
  const int64_t few[] = {5, 16, 41, 41}, many[] = {7, 264, 9, 9};
  for (const at::IntArrayRef shape : {at::IntArrayRef(few), at::IntArrayRef(many)}) {
    for (const bool summed : {false, true}) expect_as_near_as_plain({shape, summed, Activation::kRelu});
  }
}

// What lies where rounding decides what passes differs whole: so the gradients of x are compared without activation.
TEST(BatchNorm, InBfloat16IsRoundedOnce) {
  const int64_t shape[] = {5, 16, 41, 41};
  constexpr double kRounding = 1.0 / 256;
  for (const bool training : {true, false}) {
    for (const bool summed : {false, true}) {
      const Given all{shape, summed, {}, training};
      const auto found = parts_of(computed(all, at::kBFloat16)), expected = parts_of(computed(all, at::kDouble));
      for (size_t i = 0; i < found.size(); ++i) {
        const bool rounded = i < 2 || found[i].first == std::string("dresidual");
        expect_near(found[i].second, expected[i].second, rounded ? kRounding : 3e-5, found[i].first, all);
      }
      const Given given{shape, summed, Activation::kRelu, training};
      expect_near(computed(given, at::kBFloat16).y, computed(given, at::kDouble).y, kRounding, "y", given);
    }
  }
}

// Squares of values around 1000 have no digits left for a variance of 2 in single precision.
TEST(BatchNorm, KeepsVarianceOfMapsFarFromZero) {
  const int64_t shape[] = {5, 16, 41, 41};
  const at::Tensor x = laid_out(waves(shape, 0.37) * 2 + 1000, at::kFloat), exact = x.to(at::kDouble);
  const ChannelMoments moments = channel_moments(x);
  EXPECT_EQ(moments.count, 5 * 41 * 41);
  EXPECT_TRUE(at::allclose(moments.mean.to(at::kDouble), exact.mean({0, 2, 3}), 1e-7, 0));
  EXPECT_TRUE(at::allclose(moments.m2.to(at::kDouble), exact.var({0, 2, 3}, false) * static_cast<double>(moments.count), 1e-5, 0));
}

TEST(BatchNorm, LeavesGradientsAloneThatOthersHold) {
  const int64_t shape[] = {2, 16, 3, 5};
  for (const bool summed : {false, true}) {
    auto layer = worn_layer(16);
    layer->to(at::kFloat);
    const at::Tensor x = laid_out(waves(shape, 0.37), at::kFloat).requires_grad_();
    const at::Tensor residual = laid_out(waves(shape, 0.83), at::kFloat).requires_grad_();
    at::Tensor y = normalised(*layer, x, {summed ? residual : at::Tensor(), Activation::kRelu});
    y.retain_grad();
    const at::Tensor factor = laid_out(waves(shape, 1.3), at::kFloat), given = factor.clone();
    (y * factor).sum().backward();
    EXPECT_TRUE(at::equal(y.grad(), factor)) << summed;
    const at::Tensor once = x.grad().clone();
    x.mutable_grad() = at::Tensor();
    normalised(*layer, x, {summed ? residual : at::Tensor(), Activation::kRelu}).backward(given);
    EXPECT_TRUE(at::equal(given, factor)) << summed;
    EXPECT_TRUE(at::equal(x.grad(), once)) << summed;
  }
}

TEST(BatchNorm, SumsTheGradientsOfBothBranches) {
  const int64_t shape[] = {2, 16, 3, 5};
  for (const bool summed : {false, true}) {
    for (const auto activation : {std::optional<Activation>(), std::optional(Activation::kRelu), std::optional(Activation::kTanh)}) {
      const auto gradients = [&](at::ScalarType type, bool both) {
        auto layer = worn_layer(16);
        layer->to(type);
        const at::Tensor x = laid_out(waves(shape, 0.31), type).requires_grad_(),
                         residual = laid_out(waves(shape, 0.83), type).requires_grad_();
        const Branches y = normalised_branches(*layer, x, {summed ? residual : at::Tensor(), activation});
        EXPECT_TRUE(at::equal(y.first, y.second));
        at::Tensor loss = (y.second * laid_out(waves(shape, 1.3), type)).sum();
        if (both) loss = loss + (y.first * laid_out(waves(shape, 2.9), type)).sum();
        loss.backward();
        return std::vector{x.grad(), layer->weight.grad(), layer->bias.grad(), summed ? residual.grad() : x.grad()};
      };
      for (const bool both : {false, true}) {
        const auto found = gradients(at::kFloat, both), expected = gradients(at::kDouble, both);
        for (size_t i = 0; i < found.size(); ++i) EXPECT_LT(error_of(found[i], expected[i]), 1e-5) << i << summed << both;
      }
    }
  }
}

TEST(BatchNorm, HasTheSameBytesForEveryNumberOfThreads) {
  const int64_t shape[] = {5, 16, 41, 41};
  const Given given{shape, true, Activation::kRelu};
  const OneThread one_thread;
  const Found one = computed(given, at::kFloat);
  for (const int threads : {2, 3}) {
    at::set_num_threads(threads);
    const Found many = computed(given, at::kFloat);
    for (const auto& [a, b] :
         {std::pair{one.y, many.y}, {one.dx, many.dx}, {one.dweight, many.dweight}, {one.running_var, many.running_var}}) {
      EXPECT_TRUE(at::equal(a, b)) << threads;
    }
  }
}

TEST(BatchNorm, WhatIsNotANumberStaysSo) {
  auto layer = worn_layer(16);
  layer->to(at::kFloat);
  layer->eval();
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    at::Tensor x = laid_out(waves({2, 16, 3, 5}, 0.37), type);
    x.select(0, 1).fill_(std::nan(""));
    const at::Tensor y = normalised(*layer, x, {{}, Activation::kRelu});
    EXPECT_TRUE(at::isfinite(y.select(0, 0)).all().item<bool>());
    EXPECT_TRUE(at::isnan(y.select(0, 1)).all().item<bool>());
  }
}

TEST(BatchNorm, RefusesWhatItCannotDo) {
  auto layer = worn_layer(16);
  layer->to(at::kFloat);
  EXPECT_THROW(normalised(*layer, at::ones({1, 16, 1, 1}).contiguous(kLast)), c10::Error);  // one value has no variance
  const at::Tensor x = laid_out(waves({2, 16, 3, 5}, 0.37), at::kFloat).requires_grad_();
  const at::Tensor y = normalised(*layer, x, {{}, Activation::kRelu});
  EXPECT_THROW(torch::autograd::grad({y.sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true), Error);
}

}  // namespace batch_norm_test
}  // namespace debias
