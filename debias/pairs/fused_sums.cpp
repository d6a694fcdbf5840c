#include "debias/pairs/pair_engines.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "debias/core/error.h"
#include "debias/kernels/equal_sums.h"
#include "debias/kernels/log_add_sums.h"
#include "debias/kernels/log_sums.h"
#include "debias/kernels/ranked_log_sums.h"
#include "debias/kernels/sorted_rows.h"

namespace debias {

// Anchors in the order of their groups, as the kernels want them.
struct SortedBatch {
  at::Tensor source_anchors, source_group;  // what it was made from
  at::Tensor order;                         // int64 [n]: row of each sorted place; undefined where they are the same
  at::Tensor place;                         // int64 [n]: sorted place of each row
  at::Tensor z;                             // float32 [n, D] contiguous, in the graph
  at::Tensor first, last;                   // int32 [n]: the group of a place
  float largest_norm2 = 0;
  double temperature = 0;  // of the sum that is asked for
  bool bfloat16_products = false;

  kernels::SortedRows rows() const;
  at::Tensor sorted(const at::Tensor& per_row) const;  // the last dimension, from row to place
  at::Tensor unsorted(const at::Tensor& per_place) const;
};

kernels::SortedRows SortedBatch::rows() const {
  return {.z = z.const_data_ptr<float>(),
          .n = z.size(0),
          .dim = z.size(1),
          .first = first.const_data_ptr<int32_t>(),
          .last = last.const_data_ptr<int32_t>(),
          .scale = static_cast<float>(1 / temperature),
          .largest_norm2 = largest_norm2,
          .bfloat16_products = bfloat16_products};
}

at::Tensor SortedBatch::sorted(const at::Tensor& per_row) const { return order.defined() ? per_row.index_select(-1, order) : per_row; }
at::Tensor SortedBatch::unsorted(const at::Tensor& per_place) const {
  return order.defined() ? per_place.index_select(-1, place) : per_place;
}

namespace {

float largest_norm2(const at::Tensor& z) {
  const at::Tensor norms = at::linalg_vector_norm(z, 2, at::IntArrayRef{1});
  const float* all = norms.const_data_ptr<float>();
  float most = 0;
  for (int64_t i = 0; i < norms.size(0); ++i) most = all[i] > most || std::isnan(all[i]) ? all[i] : most;  // NaN stays
  return most * most;
}

// Anchors float32 [B, V, D] or [n, D] on the CPU, group int64 [n] in the order of rows. Nothing is copied if the anchors are
// in the order of their groups.
SortedBatch sort_by_group(const at::Tensor& anchors, const at::Tensor& group) {
  const int64_t n = group.size(0), views = anchors.dim() == 3 ? anchors.size(1) : 1, samples = views == 0 ? 0 : n / views;
  SortedBatch batch;
  batch.source_anchors = anchors;
  batch.source_group = group;
  // In memory view v of sample i is at i*V + v; it is row v*B + i.
  const at::Tensor memory = anchors.reshape({n, anchors.size(-1)}), groups = group.contiguous();
  const int64_t* group_of = groups.const_data_ptr<int64_t>();
  const auto row_of = [&](int64_t place) { return place % views * samples + place / views; };
  std::vector<int64_t> sorted(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) sorted[static_cast<size_t>(i)] = group_of[row_of(i)];
  at::Tensor from;  // int64 [n]: index in memory of each place's row
  if (std::is_sorted(sorted.begin(), sorted.end())) {
    batch.z = memory.contiguous();
  } else {
    from = at::arange(n, at::kLong);
    auto* places = from.data_ptr<int64_t>();
    std::stable_sort(places, places + n,
                     [&](int64_t a, int64_t b) { return sorted[static_cast<size_t>(a)] < sorted[static_cast<size_t>(b)]; });
    std::sort(sorted.begin(), sorted.end());
    batch.z = memory.index_select(0, from);
  }
  if (views > 1 || from.defined()) {
    batch.order = at::empty({n}, at::kLong);
    batch.place = at::empty({n}, at::kLong);
    auto *order = batch.order.data_ptr<int64_t>(), *place = batch.place.data_ptr<int64_t>();
    const int64_t* places = from.defined() ? from.const_data_ptr<int64_t>() : nullptr;
    for (int64_t i = 0; i < n; ++i) place[order[i] = row_of(places != nullptr ? places[i] : i)] = i;
  }
  batch.first = at::empty({n}, at::kInt);
  batch.last = at::empty({n}, at::kInt);
  auto *first = batch.first.data_ptr<int32_t>(), *last = batch.last.data_ptr<int32_t>();
  for (int64_t begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && sorted[static_cast<size_t>(end)] == sorted[static_cast<size_t>(begin)]) ++end;
    std::fill(first + begin, first + end, static_cast<int32_t>(begin));
    std::fill(last + begin, last + end, static_cast<int32_t>(end));
  }
  batch.largest_norm2 = largest_norm2(batch.z.detach());
  return batch;
}

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Beyond what a call needs at least: two tiles a thread and the chunks' parts of a row block.
constexpr int64_t kLeastBudget = int64_t{4} << 20;

SortedBatch& batch_of(const Rows& rows) {
  if (rows.memory_budget < kLeastBudget) {
    throw usage_error("fused backend: a memory budget of {} bytes cannot hold its tiles; give at least {} MB", rows.memory_budget,
                      kLeastBudget >> 20);
  }
  const auto of_these_rows = [&](const SortedBatch& batch) {  // a copy of `rows` may have been given other groups since
    return batch.source_anchors.is_same(rows.anchors) && batch.source_group.is_same(rows.group);
  };
  if (!rows.sorted || !of_these_rows(*rows.sorted)) rows.sorted = std::make_shared<SortedBatch>(sort_by_group(rows.anchors, rows.group));
  rows.sorted->bfloat16_products = rows.bfloat16_products;
  rows.sorted->temperature = rows.temperature;
  return *rows.sorted;
}

// Gradient of the later sums of the chain, to be added to: in place where nobody else holds it.
at::Tensor gathered(const at::Tensor& later, const at::Tensor& z) {
  if (!later.defined()) return at::zeros_like(z);
  const bool sole = later.use_count() == 1 && later.storage().use_count() == 1 && later.is_contiguous();
  return sole ? later : later.contiguous().clone();
}

void remember(AutogradContext* context, const SortedBatch& batch) {
  context->set_materialize_grads(false);
  context->saved_data["temperature"] = batch.temperature;
  context->saved_data["norm"] = static_cast<double>(batch.largest_norm2);
  context->saved_data["bfloat16_products"] = batch.bfloat16_products;
  context->saved_data["first"] = batch.first;
  context->saved_data["last"] = batch.last;
}

struct Remembered {
  Remembered(AutogradContext* context, const at::Tensor& z) {
    batch.z = z;
    batch.first = context->saved_data["first"].toTensor();
    batch.last = context->saved_data["last"].toTensor();
    batch.largest_norm2 = static_cast<float>(context->saved_data["norm"].toDouble());
    batch.bfloat16_products = context->saved_data["bfloat16_products"].toBool();
    batch.temperature = context->saved_data["temperature"].toDouble();
    rows = batch.rows();
  }
  SortedBatch batch;
  kernels::SortedRows rows;
};

kernels::PairSet kernel_set(PairSet set) {
  if (set == PairSet::kOthers) return kernels::PairSet::kOthers;
  return set == PairSet::kUnequal ? kernels::PairSet::kUnequal : kernels::PairSet::kEqual;
}

// visit(row, place), row by row.
template <class Visit>
void each_row(int64_t n, const at::Tensor& place, const Visit& visit) {
  const int64_t* places = place.defined() ? place.const_data_ptr<int64_t>() : nullptr;
  for (int64_t row = 0; row < n; ++row) visit(row, places != nullptr ? places[row] : row);
}

// Each function returns its sums and the sorted rows as it got them.
class LogSums : public Function<LogSums> {
 public:
  // The sums are float32, in the order of rows.
  static variable_list forward(AutogradContext* context, const at::Tensor& z, const SortedBatch& batch,
                               const std::vector<PairSum>& requests, int64_t budget) {
    const kernels::SortedRows rows = batch.rows();
    const auto sought = kernel_requests(requests);
    const kernels::TileForm form = kernels::kept_form(rows, sought);
    const int64_t bytes = kernels::kept_bytes(rows.n, form);
    const bool keep = z.requires_grad() && bytes <= budget;
    const at::Tensor kept = keep ? at::empty({bytes}, at::kByte) : at::Tensor();
    at::Tensor sums = at::empty({static_cast<int64_t>(requests.size()), z.size(0)}, at::kDouble);
    kernels::log_sums_forward(rows, sought, sums.data_ptr<double>(), {form, keep ? kept.data_ptr() : nullptr});
    context->save_for_backward({z, sums, kept});
    remember(context, batch);
    std::vector<double> multipliers;
    std::vector<int64_t> sets;
    for (const auto& request : requests) {
      multipliers.push_back(request.multiplier);
      sets.push_back(static_cast<int64_t>(request.set));
    }
    context->saved_data["multipliers"] = multipliers;
    context->saved_data["sets"] = sets;
    context->saved_data["form"] = static_cast<int64_t>(form);
    context->saved_data["place"] = batch.place;
    const at::Tensor results = at::empty(sums.sizes(), at::kFloat);
    for (int64_t r = 0; r < sums.size(0); ++r) {
      const double* from = sums.const_data_ptr<double>() + r * rows.n;
      float* to = results.data_ptr<float>() + r * rows.n;
      each_row(rows.n, batch.place, [&](int64_t row, int64_t p) { to[row] = static_cast<float>(from[p]); });
    }
    return {results, z};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("log_sums", "fused");
    const auto saved = context->get_saved_variables();
    const auto multipliers = context->saved_data["multipliers"].toDoubleVector();
    const auto sets = context->saved_data["sets"].toIntVector();
    at::Tensor dz = gathered(grads[1], saved[0]);
    if (!grads[0].defined()) return {dz, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
    // A request whose gradient is nothing (diagnostics, a clamped estimate) costs nothing.
    const int64_t n = saved[0].size(0);
    const at::Tensor place = context->saved_data["place"].toTensor(), all_grads = grads[0].contiguous();
    std::vector<PairSum> requests;
    std::vector<double> used_sums, used_grads;
    for (size_t r = 0; r < sets.size(); ++r) {
      const float* grad = all_grads.const_data_ptr<float>() + static_cast<int64_t>(r) * n;
      if (std::all_of(grad, grad + n, [](float value) { return value == 0; })) continue;
      const double* sums = saved[1].const_data_ptr<double>() + static_cast<int64_t>(r) * n;
      requests.push_back({static_cast<PairSet>(sets[r]), multipliers[r]});
      used_sums.insert(used_sums.end(), sums, sums + n);
      used_grads.resize(used_sums.size());
      double* to = used_grads.data() + used_grads.size() - static_cast<size_t>(n);
      each_row(n, place, [&](int64_t row, int64_t p) { to[p] = grad[row]; });
    }
    if (!requests.empty()) {
      const auto form = static_cast<kernels::TileForm>(context->saved_data["form"].toInt());
      kernels::log_sums_backward(Remembered(context, saved[0]).rows, kernel_requests(requests), used_sums.data(),
                                 {form, saved[2].defined() ? saved[2].data_ptr() : nullptr}, used_grads.data(), dz.data_ptr<float>());
    }
    return {dz, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  static std::vector<kernels::ExpSum> kernel_requests(const std::vector<PairSum>& requests) {
    std::vector<kernels::ExpSum> all;
    for (const auto& request : requests) all.push_back({kernel_set(request.set), static_cast<float>(request.multiplier)});
    return all;
  }
};

class LogAddSums : public Function<LogAddSums> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& z, const at::Tensor& c, const SortedBatch& batch,
                               const LogAdd& term) {
    at::Tensor sums = at::empty({z.size(0)}, at::kDouble), slopes = at::empty_like(sums);
    kernels::log_add_sums_forward(batch.rows(), kernel_term(term), c.const_data_ptr<float>(), sums.data_ptr<double>(),
                                  slopes.data_ptr<double>());
    context->save_for_backward({z, c, slopes});
    remember(context, batch);
    context->saved_data["set"] = static_cast<int64_t>(term.set);
    context->saved_data["sign"] = term.sign;
    context->saved_data["epsilon"] = term.epsilon;
    return {sums, z};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("log_add_sums", "fused");
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
                               const std::vector<double>& multipliers, const std::vector<int64_t>& constant, int64_t budget) {
    const auto requests = kernel_requests(log_weights, multipliers, constant);
    const int64_t n = z.size(0);
    const int64_t shares = std::count_if(requests.begin(), requests.end(), [](const auto& request) { return request.has_gradient(); });
    const bool keep =
        z.requires_grad() && shares > 0 && n <= budget / (kernels::kept_columns(n) * shares * static_cast<int64_t>(sizeof(float)));
    const at::Tensor kept = keep ? at::empty({shares, n, kernels::kept_columns(n)}, at::kFloat) : at::Tensor();
    at::Tensor sums = at::empty({log_weights.size(0), n}, at::kDouble);
    kernels::ranked_log_sums_forward(batch.rows(), requests, sums.data_ptr<double>(), keep ? kept.data_ptr<float>() : nullptr);
    context->save_for_backward({z, log_weights, kept});
    remember(context, batch);
    context->saved_data["multipliers"] = multipliers;
    context->saved_data["constant"] = constant;
    return {sums, z};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("ranked_log_sums", "fused");
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
  static variable_list forward(AutogradContext* context, const at::Tensor& z, const SortedBatch& batch) {
    at::Tensor sums = at::empty({z.size(0)}, at::kDouble);
    kernels::equal_sums_forward(batch.rows(), sums.data_ptr<double>());
    context->save_for_backward({z});
    remember(context, batch);
    return {sums, z};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    refuse_second_derivative("equal_sums", "fused");
    const at::Tensor z = context->get_saved_variables()[0];
    at::Tensor dz = gathered(grads[1], z);
    if (grads[0].defined()) {
      const at::Tensor weights = grads[0].contiguous();
      kernels::equal_sums_backward(Remembered(context, z).rows, weights.const_data_ptr<double>(), dz.data_ptr<float>());
    }
    return {dz, at::Tensor(), at::Tensor()};
  }
};

// The sums; the sorted rows pass to the next function of the chain. Vectorised exponentials and maxima swallow NaN, so a row that is not
// finite is detected by its norm: a loss of it must not look like a number.
at::Tensor taken(SortedBatch& batch, const variable_list& outputs) {
  batch.z = outputs[1];
  return std::isfinite(batch.largest_norm2) ? outputs[0] : outputs[0] * std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<at::Tensor> fused_log_sums(const Rows& rows, const std::vector<PairSum>& requests) {
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
  const auto sums = taken(batch, LogSums::apply(batch.z, batch, distinct, rows.memory_budget)).unbind(0);
  std::vector<at::Tensor> results;
  for (const size_t of : index) results.push_back(sums[of]);
  return results;
}

std::vector<at::Tensor> fused_ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests) {
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
  const at::Tensor sums = taken(batch, RankedLogSums::apply(batch.z, table, batch, multipliers, constant, rows.memory_budget));
  return batch.unsorted(sums).to(at::kFloat).unbind(0);
}

at::Tensor fused_equal_sums(const Rows& rows) {
  SortedBatch& batch = batch_of(rows);
  return batch.unsorted(taken(batch, EqualSums::apply(batch.z, batch))).to(at::kFloat);
}

at::Tensor fused_log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term) {
  SortedBatch& batch = batch_of(rows);
  const at::Tensor sorted_c = batch.sorted(c).contiguous();
  return batch.unsorted(taken(batch, LogAddSums::apply(batch.z, sorted_c, batch, term))).to(at::kFloat);
}

}  // namespace debias
