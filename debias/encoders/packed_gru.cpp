#include "debias/encoders/packed_gru.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "debias/core/error.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kRowGrain = 16;  // rows of a step that a thread takes at least
constexpr size_t kTensorsOfDirection = 4;

// What the backward pass reads of one direction, [tokens, ...] in the order of the steps.
struct Trace {
  at::Tensor gates;     // [tokens, 3H] r, z, n, a slice of those of all directions
  at::Tensor previous;  // [tokens, H] the state before the step
  at::Tensor hidden;    // [tokens, H] kTorch: U_n h + c_n; kTensorFlow: r h
};

// The steps of a direction in the order in which it takes them.
std::vector<size_t> order_of(const PackedSteps& steps, bool reverse) {
  std::vector<size_t> order(steps.rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (reverse) std::reverse(order.begin(), order.end());
  return order;
}

// Fills `trace`, whose gates hold W x + b; `state` [N, H] begins as zeros and ends as the final states.
void run_forward(const PackedSteps& steps, const GruWeights& weights, GruCell cell, bool reverse, const Trace& trace,
                 const at::Tensor& state) {
  const int64_t H = weights.hidden.size(1);
  const at::Tensor gates_weight = weights.hidden.slice(0, 0, 2 * H).t(), new_weight = weights.hidden.slice(0, 2 * H).t();
  for (const size_t t : order_of(steps, reverse)) {
    const int64_t begin = steps.first[t], end = begin + steps.rows[t];
    at::Tensor h = state.slice(0, 0, steps.rows[t]), before = trace.previous.slice(0, begin, end);
    before.copy_(h);
    const at::Tensor all = trace.gates.slice(0, begin, end);
    at::Tensor rz = all.slice(1, 0, 2 * H), n = all.slice(1, 2 * H), hidden = trace.hidden.slice(0, begin, end);
    rz.addmm_(before, gates_weight);
    rz.sigmoid_();
    const at::Tensor r = rz.slice(1, 0, H), z = rz.slice(1, H);
    if (cell == GruCell::kTorch) {
      at::addmm_out(hidden, weights.hidden_bias.slice(0, 2 * H), before, new_weight);
      n.addcmul_(r, hidden);
    } else {
      at::mul_out(hidden, r, before);
      n.addmm_(hidden, new_weight);
    }
    n.tanh_();
    at::lerp_out(h, n, before, z);
  }
}

struct StepPlan {
  int64_t rows, H;
  int64_t gate_stride;  // of r, z, n and of their gradients
};

// Of a step, given dh' of the state after it: gradients of what r and z are the sigmoid of and n the tanh of, and dh' z. kTensorFlow: dr is
// left to reset_gradient, which knows the gradient of r h only once that of n has passed U_n.
template <class T>
void gate_gradients(const StepPlan& plan, GruCell cell, const T* gates, const T* before, const T* hidden, T* dstate, T* dgates,
                    T* dhidden) {
  const int64_t H = plan.H;
  at::parallel_for(0, plan.rows, kRowGrain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const T *r = gates + row * plan.gate_stride, *z = r + H, *n = z + H, *h = before + row * H, *u = hidden + row * H;
      T *dr = dgates + row * plan.gate_stride, *dz = dr + H, *dn = dz + H, *ds = dstate + row * H;
      T* du = dhidden + row * 3 * H;
      for (int64_t j = 0; j < H; ++j) {
        const T d = ds[j];
        const T of_z = d * (h[j] - n[j]) * z[j] * (1 - z[j]);
        const T of_n = d * (1 - z[j]) * (1 - n[j] * n[j]);
        dz[j] = of_z;
        dn[j] = of_n;
        ds[j] = d * z[j];
        if (cell != GruCell::kTorch) continue;
        const T of_r = of_n * u[j] * r[j] * (1 - r[j]);
        dr[j] = of_r;
        du[j] = of_r;
        du[H + j] = of_z;
        du[2 * H + j] = of_n * r[j];
      }
    }
  });
}

// kTensorFlow: with the gradient `dreset` of r h, that of what r is the sigmoid of, and its part of dh.
template <class T>
void reset_gradients(const StepPlan& plan, const T* gates, const T* before, const T* dreset, T* dstate, T* dgates) {
  at::parallel_for(0, plan.rows, kRowGrain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const T *r = gates + row * plan.gate_stride, *h = before + row * plan.H, *dm = dreset + row * plan.H;
      T *dr = dgates + row * plan.gate_stride, *ds = dstate + row * plan.H;
      for (int64_t j = 0; j < plan.H; ++j) {
        dr[j] = dm[j] * h[j] * r[j] * (1 - r[j]);
        ds[j] += dm[j] * r[j];
      }
    }
  });
}

// gate_gradients and reset_gradients of a device, which has no pointers to give.
void gate_gradients_by_kernels(GruCell cell, const at::Tensor& gates, const at::Tensor& before, const at::Tensor& hidden,
                               const at::Tensor& dstate, const at::Tensor& dgates, const at::Tensor& dhidden) {
  const std::vector<at::Tensor> own = gates.chunk(3, 1), into = dgates.chunk(3, 1);
  const at::Tensor &r = own[0], &z = own[1], &n = own[2];
  const at::Tensor of_z = dstate * (before - n) * z * (1 - z), of_n = dstate * (1 - z) * (1 - n * n);
  into[1].copy_(of_z);
  into[2].copy_(of_n);
  dstate.mul_(z);
  if (cell != GruCell::kTorch) return;
  const at::Tensor of_r = of_n * hidden * r * (1 - r);
  into[0].copy_(of_r);
  dhidden.copy_(at::cat({of_r, of_z, of_n * r}, 1));
}

void reset_gradients_by_kernels(const at::Tensor& gates, const at::Tensor& before, const at::Tensor& dreset, const at::Tensor& dstate,
                                const at::Tensor& dgates) {
  const int64_t H = before.size(1);
  const at::Tensor r = gates.slice(1, 0, H);
  dgates.slice(1, 0, H).copy_(dreset * before * r * (1 - r));
  dstate.addcmul_(dreset, r);
}

// Fills `dgates` [tokens, 3H] (a slice, as the gates are) and returns the gradients of U and c. `dstate` [N, H] is used up.
std::pair<at::Tensor, at::Tensor> run_backward(const PackedSteps& steps, const at::Tensor& U, GruCell cell, bool reverse,
                                               const Trace& trace, const at::Tensor& dstate, const at::Tensor& dgates) {
  const int64_t H = U.size(1);
  const bool torch_cell = cell == GruCell::kTorch, on_host = U.is_cpu();
  const at::Tensor U_rz = U.slice(0, 0, 2 * H), U_n = U.slice(0, 2 * H);
  const at::Tensor dhidden = torch_cell ? at::empty({steps.tokens(), 3 * H}, U.options()) : at::empty({0, 3 * H}, U.options());
  const std::vector<size_t> order = order_of(steps, !reverse);
  for (const size_t t : order) {
    const int64_t begin = steps.first[t], end = begin + steps.rows[t];
    const StepPlan plan = {steps.rows[t], H, trace.gates.stride(0)};
    const at::Tensor gates = trace.gates.slice(0, begin, end), before = trace.previous.slice(0, begin, end);
    const at::Tensor hidden = trace.hidden.slice(0, begin, end), own = dgates.slice(0, begin, end);
    const at::Tensor through = torch_cell ? dhidden.slice(0, begin, end) : own;
    at::Tensor d = dstate.slice(0, 0, steps.rows[t]);
    if (on_host) {
      AT_DISPATCH_FLOATING_TYPES(U.scalar_type(), "packed_gru", [&] {
        gate_gradients<scalar_t>(plan, cell, gates.const_data_ptr<scalar_t>(), before.const_data_ptr<scalar_t>(),
                                 hidden.const_data_ptr<scalar_t>(), d.mutable_data_ptr<scalar_t>(), own.mutable_data_ptr<scalar_t>(),
                                 torch_cell ? through.mutable_data_ptr<scalar_t>() : nullptr);
      });
    } else {
      gate_gradients_by_kernels(cell, gates, before, hidden, d, own, through);
    }
    if (torch_cell) {
      d.addmm_(through, U);
      continue;
    }
    const at::Tensor dreset = at::mm(own.slice(1, 2 * H), U_n);
    if (on_host) {
      AT_DISPATCH_FLOATING_TYPES(U.scalar_type(), "packed_gru", [&] {
        reset_gradients<scalar_t>(plan, gates.const_data_ptr<scalar_t>(), before.const_data_ptr<scalar_t>(),
                                  dreset.const_data_ptr<scalar_t>(), d.mutable_data_ptr<scalar_t>(), own.mutable_data_ptr<scalar_t>());
      });
    } else {
      reset_gradients_by_kernels(gates, before, dreset, d, own);
    }
    d.addmm_(own.slice(1, 0, 2 * H), U_rz);
  }
  if (torch_cell) return {at::mm(dhidden.t(), trace.previous), dhidden.sum(0)};
  return {at::cat({at::mm(dgates.slice(1, 0, 2 * H).t(), trace.previous), at::mm(dgates.slice(1, 2 * H).t(), trace.hidden)}), {}};
}

class PackedGru : public torch::autograd::Function<PackedGru> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& inputs, const std::shared_ptr<const PackedSteps>& steps,
                            GruCell cell, at::TensorList weights) {
    const size_t D = weights.size() / kTensorsOfDirection;
    const int64_t H = weights[1].size(1), tokens = steps->tokens();
    std::vector<at::Tensor> input_weights, biases;
    for (size_t d = 0; d < D; ++d) {
      const at::Tensor &b = weights[d * kTensorsOfDirection + 2], &c = weights[d * kTensorsOfDirection + 3];
      input_weights.push_back(weights[d * kTensorsOfDirection]);
      biases.push_back(cell == GruCell::kTorch ? at::cat({(b + c).slice(0, 0, 2 * H), b.slice(0, 2 * H)}) : b);
    }
    const at::Tensor gates = at::addmm(at::cat(biases), inputs, at::cat(input_weights).t());
    variable_list saved = {inputs, gates};
    std::vector<at::Tensor> states;
    for (size_t d = 0; d < D; ++d) {
      const size_t at = d * kTensorsOfDirection;
      const auto first = static_cast<int64_t>(d) * 3 * H;
      const Trace trace = {gates.slice(1, first, first + 3 * H), at::empty({tokens, H}, inputs.options()),
                           at::empty({tokens, H}, inputs.options())};
      const at::Tensor state = at::zeros({steps->sentences(), H}, inputs.options());
      run_forward(*steps, {weights[at], weights[at + 1], weights[at + 2], weights[at + 3]}, cell, d == 1, trace, state);
      states.push_back(state);
      saved.insert(saved.end(), {weights[at], weights[at + 1], trace.previous, trace.hidden});
    }
    context->save_for_backward(saved);
    context->saved_data["cell"] = static_cast<int64_t>(cell);
    context->saved_data["rows"] = steps->rows;
    context->saved_data["words"] = steps->words;
    context->saved_data["order"] = steps->order;
    at::Tensor result = at::empty({steps->sentences(), static_cast<int64_t>(D) * H}, inputs.options());
    result.index_copy_(0, steps->order, D == 1 ? states[0] : at::cat(states, 1));
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto cell = static_cast<GruCell>(context->saved_data["cell"].toInt());
    PackedSteps steps;
    steps.rows = context->saved_data["rows"].toIntVector();
    steps.words = context->saved_data["words"].toTensor();
    steps.order = context->saved_data["order"].toTensor();
    for (int64_t begin = 0; const int64_t rows : steps.rows) {
      steps.first.push_back(begin);
      begin += rows;
    }
    const at::Tensor &inputs = saved[0], &gates = saved[1];
    const size_t D = (saved.size() - 2) / 4;
    const int64_t H = saved[3].size(1);
    const at::Tensor dstates = gradients[0].index_select(0, steps.order), dgates = at::empty_like(gates);
    std::vector<at::Tensor> input_weights;
    variable_list result = {{}, {}, {}};
    for (size_t d = 0; d < D; ++d) {
      const size_t at = 2 + 4 * d;
      const auto first = static_cast<int64_t>(d) * H;
      const Trace trace = {gates.slice(1, 3 * first, 3 * (first + H)), saved[at + 2], saved[at + 3]};
      const auto [dU, dc] = run_backward(steps, saved[at + 1], cell, d == 1, trace, dstates.slice(1, first, first + H).contiguous(),
                                         dgates.slice(1, 3 * first, 3 * (first + H)));
      input_weights.push_back(saved[at]);
      result.insert(result.end(), {{}, dU, {}, dc});
    }
    const at::Tensor dW = at::mm(dgates.t(), inputs), db = dgates.sum(0);
    for (size_t d = 0; d < D; ++d) {
      const auto first = static_cast<int64_t>(d) * 3 * H;
      result[3 + 4 * d] = dW.slice(0, first, first + 3 * H);
      result[5 + 4 * d] = db.slice(0, first, first + 3 * H);
    }
    if (context->needs_input_grad(0)) result[0] = at::mm(dgates, at::cat(input_weights));
    return result;
  }
};

}  // namespace

std::shared_ptr<const PackedSteps> packed_steps(const at::Tensor& ids, c10::Device device) {
  const at::Tensor given = ids.to(at::kCPU, at::kLong).contiguous();
  const int64_t N = given.size(0), T = given.size(1);
  const int64_t* data = given.const_data_ptr<int64_t>();
  std::vector<int64_t> lengths(static_cast<size_t>(N)), order(static_cast<size_t>(N));
  for (int64_t i = 0; i < N; ++i) {
    const int64_t* row = data + i * T;
    lengths[static_cast<size_t>(i)] = std::find_if(row, row + T, [](int64_t id) { return id < 0; }) - row;
    if (lengths[static_cast<size_t>(i)] == 0) throw data_error("sentence {} of a batch has no word", i);
  }
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)]; });
  auto steps = std::make_shared<PackedSteps>();
  std::vector<int64_t> words;
  const auto length_of = [&](size_t place) { return lengths[static_cast<size_t>(order[place])]; };
  size_t rows = order.size();
  for (int64_t t = 0; N > 0 && t < length_of(0); ++t) {
    while (rows > 0 && length_of(rows - 1) <= t) --rows;
    steps->first.push_back(static_cast<int64_t>(words.size()));
    steps->rows.push_back(static_cast<int64_t>(rows));
    for (size_t i = 0; i < rows; ++i) words.push_back(data[order[i] * T + t]);
  }
  steps->order = upload(at::tensor(order, at::kLong), device);
  steps->words = upload(at::tensor(words, at::kLong), device);
  return steps;
}

at::Tensor packed_gru(const at::Tensor& inputs, const std::shared_ptr<const PackedSteps>& steps, const std::vector<GruWeights>& directions,
                      GruCell cell) {
  variable_list weights;
  for (const GruWeights& one : directions) {
    const at::Tensor c = cell == GruCell::kTorch ? one.hidden_bias : at::empty({0}, inputs.options());
    weights.insert(weights.end(), {one.input, one.hidden, one.input_bias, c});
  }
  return PackedGru::apply(inputs, steps, cell, at::TensorList(weights));
}

}  // namespace debias
