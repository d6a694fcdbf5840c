// The debiased contrastive loss of 64 samples with two views each, and its gradient, from an installed debias.
#include <ATen/ATen.h>

#include <cstdio>

#include "debias/losses/debiased.h"

int main() {
  at::manual_seed(1);
  auto z = at::randn({64, 2, 128});
  z = (z / z.norm(2, -1, true)).requires_grad_();

  auto loss = debias::debiased_negatives(z, debias::DebiasedNegativesOptions{.temperature = 0.5, .tau_plus = 0.1});
  loss.value.backward();

  std::printf("loss %.4f over %ld anchors, %ld clamped, gradient norm %.4f\n", loss.value.item<double>(),
              static_cast<long>(loss.anchors_used), static_cast<long>(loss.clamped), z.grad().norm().item<double>());
  return z.grad().isfinite().all().item<bool>() ? 0 : 1;
}
