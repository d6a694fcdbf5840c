#include "debias/losses/fused_pairs.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/kernels/equal_sums.h"
#include "debias/kernels/log_add_sums.h"
#include "debias/kernels/log_sums.h"
#include "debias/kernels/ranked_log_sums.h"
#include "debias/losses/sorted_batch.h"

namespace debias {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Beyond what a call needs at least: two tiles a thread and the chunks' parts of a row block.
constexpr int64_t kLeastBudget = int64_t{4} << 20;

SortedBatch& batch_of(const PairRows& rows) {
  if (rows.memory_budget < kLeastBudget) {
    throw usage_error("fused engine: a memory budget of {} bytes cannot hold the tiles it works on; give at least {} MB",
                      rows.memory_budget, kLeastBudget >> 20);
  }
  const auto of_these_rows = [&](const SortedBatch& batch) {  // a copy of `rows` may have been given other groups since
    return batch.source_z.is_same(rows.z) && batch.source_group.is_same(rows.group);
  };
  if (!rows.sorted || !of_these_rows(*rows.sorted)) rows.sorted = std::make_shared<SortedBatch>(sort_by_group(rows.z, rows.group));
  return *rows.sorted;
}

void refuse_second_derivative(const char* op) {
  if (at::GradMode::is_enabled()) throw usage_error("{}: the fused engine has no second derivative; give the dense engine", op);
}

// What the later sums of the chain left, to be added to: in place where nobody else holds it.
at::Tensor gathered(const at::Tensor& later, const at::Tensor& z) {
  if (!later.defined()) return at::zeros_like(z);
  const bool sole = later.use_count() == 1 && later.storage().use_count() == 1 && later.is_contiguous();
  return sole ? later : later.contiguous().clone();
}

void remember(AutogradContext* context, const SortedBatch& batch, double temperature) {
  context->set_materialize_grads(false);
  context->saved_data["temperature"] = temperature;
  context->saved_data["norm"] = static_cast<double>(batch.largest_norm2);
  context->saved_data["first"] = batch.first;
  context->saved_data["last"] = batch.last;
}

struct Remembered {
  Remembered(AutogradContext* context, const at::Tensor& z) {
    batch.z = z;
    batch.first = context->saved_data["first"].toTensor();
    batch.last = context->saved_data["last"].toTensor();
    batch.largest_norm2 = static_cast<float>(context->saved_data["norm"].toDouble());
    rows = batch.rows(context->saved_data["temperature"].toDouble());
  }
  SortedBatch batch;
  kernels::SortedRows rows;
};

kernels::PairSet kernel_set(PairSet set) {
  if (set == PairSet::kOthers) return kernels::PairSet::kOthers;
  return set == PairSet::kUnequal ? kernels::PairSet::kUnequal : kernels::PairSet::kEqual;
}

std::vector<at::Tensor> by_request(const SortedBatch& batch, const at::Tensor& sums) {
  return batch.unsorted(sums).to(at::kFloat).unbind(0);
}

// Each function returns its sums and the sorted rows as it got them.
class LogSums : public Function<LogSums> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& z, const SortedBatch& batch, double temperature,
                               const std::vector<PairSum>& requests, int64_t budget) {
    const int64_t kept_size = kernels::kept_scores_size(z.size(0));
    const bool keep = z.requires_grad() && kept_size <= budget / static_cast<int64_t>(sizeof(float));
    const at::Tensor kept = keep ? at::empty({kept_size}, z.options().requires_grad(false)) : at::Tensor();
    at::Tensor sums = at::empty({static_cast<int64_t>(requests.size()), z.size(0)}, at::kDouble);
    kernels::log_sums_forward(batch.rows(temperature), kernel_requests(requests), sums.data_ptr<double>(), pointer(kept));
    context->save_for_backward({z, sums, kept});
    remember(context, batch, temperature);
    std::vector<double> multipliers;
    std::vector<int64_t> sets;
    for (const auto& request : requests) {
      multipliers.push_back(request.multiplier);
      sets.push_back(static_cast<int64_t>(request.set));
    }
    context->saved_data["multipliers"] = multipliers;
    context->saved_data["sets"] = sets;
    return {sums, z};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("log_sums");
    const auto saved = context->get_saved_variables();
    const auto multipliers = context->saved_data["multipliers"].toDoubleVector();
    const auto sets = context->saved_data["sets"].toIntVector();
    // A request whose gradient is nothing (evidence, a clamped estimate) costs nothing.
    std::vector<PairSum> requests;
    std::vector<at::Tensor> used_sums, used_grads;
    for (size_t r = 0; grads[0].defined() && r < sets.size(); ++r) {
      const at::Tensor grad = grads[0][static_cast<int64_t>(r)];
      if (!grad.count_nonzero().item<int64_t>()) continue;
      requests.push_back({static_cast<PairSet>(sets[r]), multipliers[r]});
      used_sums.push_back(saved[1][static_cast<int64_t>(r)]);
      used_grads.push_back(grad);
    }
    at::Tensor dz = gathered(grads[1], saved[0]);
    if (!requests.empty()) {
      const at::Tensor sums = at::stack(used_sums), weights = at::stack(used_grads);
      kernels::log_sums_backward(Remembered(context, saved[0]).rows, kernel_requests(requests), sums.const_data_ptr<double>(),
                                 pointer(saved[2]), weights.const_data_ptr<double>(), dz.data_ptr<float>());
    }
    return {dz, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  static std::vector<kernels::ExpSum> kernel_requests(const std::vector<PairSum>& requests) {
    std::vector<kernels::ExpSum> all;
    for (const auto& request : requests) all.push_back({kernel_set(request.set), static_cast<float>(request.multiplier)});
    return all;
  }
  static float* pointer(const at::Tensor& kept) { return kept.defined() ? kept.data_ptr<float>() : nullptr; }
};

class LogAddSums : public Function<LogAddSums> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& z, const at::Tensor& c, const SortedBatch& batch,
                               double temperature, const LogAdd& term) {
    at::Tensor sums = at::empty({z.size(0)}, at::kDouble), slopes = at::empty_like(sums);
    kernels::log_add_sums_forward(batch.rows(temperature), kernel_term(term), c.const_data_ptr<float>(), sums.data_ptr<double>(),
                                  slopes.data_ptr<double>());
    context->save_for_backward({z, c, slopes});
    remember(context, batch, temperature);
    context->saved_data["set"] = static_cast<int64_t>(term.set);
    context->saved_data["sign"] = term.sign;
    context->saved_data["epsilon"] = term.epsilon;
    return {sums, z};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("log_add_sums");
    const auto saved = context->get_saved_variables();
    const LogAdd term{static_cast<PairSet>(context->saved_data["set"].toInt()), context->saved_data["sign"].toDouble(),
                      context->saved_data["epsilon"].toDouble()};
    at::Tensor dz = gathered(grads[1], saved[0]), dc;
    if (grads[0].defined()) {
      const at::Tensor weights = grads[0].to(at::kFloat).contiguous();
      kernels::log_add_sums_backward(Remembered(context, saved[0]).rows, kernel_term(term), saved[1].const_data_ptr<float>(),
                                     weights.const_data_ptr<float>(), dz.data_ptr<float>());
      dc = (grads[0] * saved[2]).to(at::kFloat);
    }
    return {dz, dc, at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  static kernels::LogAddTerm kernel_term(const LogAdd& term) {
    return {kernel_set(term.set), static_cast<float>(term.sign), static_cast<float>(term.epsilon)};
  }
};

class RankedLogSums : public Function<RankedLogSums> {
 public:
  // log_weights [requests, ranks]; multipliers and constant [requests].
  static variable_list forward(AutogradContext* context, const at::Tensor& z, const at::Tensor& log_weights, const SortedBatch& batch,
                               double temperature, const std::vector<double>& multipliers, const std::vector<int64_t>& constant,
                               int64_t budget) {
    const auto requests = kernel_requests(log_weights, multipliers, constant);
    const int64_t n = z.size(0);
    const int64_t shares = std::count_if(requests.begin(), requests.end(), [](const auto& request) { return request.has_gradient(); });
    const bool keep =
        z.requires_grad() && shares > 0 && n <= budget / (kernels::kept_columns(n) * shares * static_cast<int64_t>(sizeof(float)));
    const at::Tensor kept = keep ? at::empty({shares, n, kernels::kept_columns(n)}, at::kFloat) : at::Tensor();
    at::Tensor sums = at::empty({log_weights.size(0), n}, at::kDouble);
    kernels::ranked_log_sums_forward(batch.rows(temperature), requests, sums.data_ptr<double>(), keep ? kept.data_ptr<float>() : nullptr);
    context->save_for_backward({z, log_weights, kept});
    remember(context, batch, temperature);
    context->saved_data["multipliers"] = multipliers;
    context->saved_data["constant"] = constant;
    return {sums, z};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("ranked_log_sums");
    const auto saved = context->get_saved_variables();
    at::Tensor dz = gathered(grads[1], saved[0]);
    if (grads[0].defined()) {
      const at::Tensor weights = grads[0].contiguous();
      kernels::ranked_log_sums_backward(
          Remembered(context, saved[0]).rows,
          kernel_requests(saved[1], context->saved_data["multipliers"].toDoubleVector(), context->saved_data["constant"].toIntVector()),
          saved[2].defined() ? saved[2].const_data_ptr<float>() : nullptr, weights.const_data_ptr<double>(), dz.data_ptr<float>());
    }
    return {dz, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  static std::vector<kernels::RankedSum> kernel_requests(const at::Tensor& log_weights, const std::vector<double>& multipliers,
                                                         const std::vector<int64_t>& constant) {
    std::vector<kernels::RankedSum> all;
    for (int64_t r = 0; r < log_weights.size(0); ++r) {
      const double* row = log_weights.const_data_ptr<double>() + r * log_weights.size(1);
      all.push_back(
          {row, log_weights.size(1), static_cast<float>(multipliers[static_cast<size_t>(r)]), constant[static_cast<size_t>(r)] != 0});
    }
    return all;
  }
};

class EqualSums : public Function<EqualSums> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& z, const SortedBatch& batch, double temperature) {
    at::Tensor sums = at::empty({z.size(0)}, at::kDouble);
    kernels::equal_sums_forward(batch.rows(temperature), sums.data_ptr<double>());
    context->save_for_backward({z});
    remember(context, batch, temperature);
    return {sums, z};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("equal_sums");
    const at::Tensor z = context->get_saved_variables()[0];
    at::Tensor dz = gathered(grads[1], z);
    if (grads[0].defined()) {
      const at::Tensor weights = grads[0].contiguous();
      kernels::equal_sums_backward(Remembered(context, z).rows, weights.const_data_ptr<double>(), dz.data_ptr<float>());
    }
    return {dz, at::Tensor(), at::Tensor()};
  }
};

// The sums; the sorted rows go on to the next function of the chain. Vectorised exponentials and maxima swallow NaN, so a row that is not
// finite is told by its norm: a loss of it must not look like a number.
at::Tensor taken(SortedBatch& batch, const variable_list& outputs) {
  batch.z = outputs[1];
  return std::isfinite(batch.largest_norm2) ? outputs[0] : outputs[0] * std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<at::Tensor> fused_log_sums(const PairRows& rows, const std::vector<PairSum>& requests) {
  SortedBatch& batch = batch_of(rows);
  std::vector<PairSum> distinct;
  std::vector<size_t> index;
  for (const auto& request : requests) {
    const auto found = std::find_if(distinct.begin(), distinct.end(), [&](const PairSum& other) {
      return other.set == request.set && other.multiplier == request.multiplier;
    });
    index.push_back(static_cast<size_t>(found - distinct.begin()));
    if (found == distinct.end()) distinct.push_back(request);
  }
  const auto sums = by_request(batch, taken(batch, LogSums::apply(batch.z, batch, rows.temperature, distinct, rows.memory_budget)));
  std::vector<at::Tensor> results;
  for (const size_t of : index) results.push_back(sums[of]);
  return results;
}

std::vector<at::Tensor> fused_ranked_log_sums(const PairRows& rows, const std::vector<RankedSum>& requests) {
  SortedBatch& batch = batch_of(rows);
  std::vector<at::Tensor> log_weights;
  std::vector<double> multipliers;
  std::vector<int64_t> constant;
  for (const auto& request : requests) {
    log_weights.push_back(request.log_weight.to(at::kCPU, at::kDouble));
    multipliers.push_back(request.multiplier);
    constant.push_back(request.constant);
  }
  const at::Tensor table = at::stack(log_weights).contiguous();
  return by_request(batch,
                    taken(batch, RankedLogSums::apply(batch.z, table, batch, rows.temperature, multipliers, constant, rows.memory_budget)));
}

at::Tensor fused_equal_sums(const PairRows& rows) {
  SortedBatch& batch = batch_of(rows);
  return batch.unsorted(taken(batch, EqualSums::apply(batch.z, batch, rows.temperature))).to(at::kFloat);
}

at::Tensor fused_log_add_sums(const PairRows& rows, const at::Tensor& c, const LogAdd& term) {
  SortedBatch& batch = batch_of(rows);
  const at::Tensor sorted_c = batch.sorted(c).contiguous();
  return batch.unsorted(taken(batch, LogAddSums::apply(batch.z, sorted_c, batch, rows.temperature, term))).to(at::kFloat);
}

}  // namespace debias
