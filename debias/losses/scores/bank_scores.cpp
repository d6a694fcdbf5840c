#include "debias/losses/scores/bank_scores.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>

#include "debias/core/error.h"
#include "debias/kernels/bank_scores.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

kernels::BankRows rows_of(const at::Tensor& bank) { return {bank.const_data_ptr<float>(), bank.size(0), bank.size(1)}; }
kernels::BankPicks picks_of(const at::Tensor& ids) { return {ids.const_data_ptr<int32_t>(), ids.size(0), ids.size(1)}; }

class InPlaceScores : public Function<InPlaceScores> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& f, const at::Tensor& bank, const at::Tensor& ids,
                            double temperature) {
    context->save_for_backward({bank, ids});
    context->saved_data["temperature"] = temperature;
    at::Tensor scores = at::empty(ids.sizes(), f.options());
    kernels::bank_scores_forward(rows_of(bank), picks_of(ids), f.contiguous().const_data_ptr<float>(), static_cast<float>(1 / temperature),
                                 scores.mutable_data_ptr<float>());
    return scores;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    if (at::GradMode::is_enabled()) throw usage_error("bank_scores: it has no second derivative; give rows in double, which are gathered");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &bank = saved[0], &ids = saved[1], grad = grads[0].contiguous();
    const double temperature = context->saved_data["temperature"].toDouble();
    at::Tensor df = at::empty({ids.size(0), bank.size(1)}, grad.options());
    kernels::bank_scores_backward(rows_of(bank), picks_of(ids), grad.const_data_ptr<float>(), static_cast<float>(1 / temperature),
                                  df.mutable_data_ptr<float>());
    return {df, {}, {}, {}};
  }
};

void check_bank(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f) {
  const bool fit = bank.dim() == 2 && ids.dim() == 2 && f.dim() == 2 && ids.size(0) == f.size(0) && f.size(1) == bank.size(1) &&
                   ids.numel() > 0 && bank.numel() > 0;
  if (!fit) {
    throw data_error("bank_scores: expected a bank [n, D], ids [B, picks] and anchors [B, D], found [{}], [{}] and [{}]",
                     fmt::join(bank.sizes(), ", "), fmt::join(ids.sizes(), ", "), fmt::join(f.sizes(), ", "));
  }
  if (ids.scalar_type() != at::kInt || !ids.is_cpu()) {
    throw data_error("bank_scores: expected ids in int32 on the CPU, found {} on {}", c10::toString(ids.scalar_type()), ids.device().str());
  }
  const auto [low, high] = at::aminmax(ids);
  if (low.item<int32_t>() < 0 || high.item<int32_t>() >= bank.size(0)) {
    throw data_error("bank_scores: ids run from {} to {}, and the bank has rows 0 to {}", low.item<int32_t>(), high.item<int32_t>(),
                     bank.size(0) - 1);
  }
}

bool in_place(const at::Tensor& bank, const at::Tensor& f) {
  return bank.is_cpu() && f.is_cpu() && bank.scalar_type() == at::kFloat && f.scalar_type() == at::kFloat && bank.is_contiguous();
}

}  // namespace

at::Tensor bank_scores(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f, double temperature) {
  check_bank(bank, ids, f);
  if (in_place(bank, f)) return InPlaceScores::apply(f, bank.detach(), ids.contiguous(), temperature);
  const at::Tensor there = upload(ids.contiguous(), bank.device());
  if (bank.is_cpu() || bank.size(0) > ids.size(1) * bank.size(1)) return gathered_bank_scores(bank, there, f, temperature);
  return at::mm(f, bank.detach().t().to(f.scalar_type())).gather(1, there.to(at::kLong)) / temperature;
}

at::Tensor gathered_bank_scores(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f, double temperature) {
  const at::Tensor picked = bank.detach().index_select(0, ids.flatten()).view({ids.size(0), ids.size(1), bank.size(1)});
  return at::bmm(picked.to(f.scalar_type()), f.unsqueeze(2)).squeeze(2) / temperature;
}

}  // namespace debias
