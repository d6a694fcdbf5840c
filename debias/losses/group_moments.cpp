#include "debias/losses/group_moments.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "debias/core/error.h"
#include "debias/kernels/gram_products.h"
#include "debias/losses/comparison.h"

namespace debias {
namespace {

std::vector<int64_t> starts_of(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> starts = {0};
  for (const int64_t size : sizes) starts.push_back(starts.back() + size);
  return starts;
}

// The runs of rows in parallel: many products too small for threads of their own. A worker thread has none of the caller's thread state
// (inference mode, gradient mode, dispatch keys), so `function` works on pointers and calls no operator of torch.
template <class Function>
void for_each_run(const std::vector<int64_t>& sizes, const Function& function) {
  const std::vector<int64_t> starts = starts_of(sizes);
  at::parallel_for(0, static_cast<int64_t>(sizes.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) function(g, starts[g], starts[g + 1]);
  });
}

// On a device the calling thread queues one product after another; on the CPU the runs are shared among threads.
at::Tensor grams(const at::Tensor& z, const std::vector<int64_t>& sizes) {
  const int64_t d = z.size(1);
  const at::Tensor products = at::empty({static_cast<int64_t>(sizes.size()), d, d}, z.options());
  if (!z.is_cpu()) {
    const std::vector<at::Tensor> runs = z.split_with_sizes(sizes, 0);
    for (size_t g = 0; g < runs.size(); ++g) products.select(0, static_cast<int64_t>(g)).copy_(runs[g].t().mm(runs[g]));
    return products;
  }
  const double* rows = z.const_data_ptr<double>();
  double* out = products.mutable_data_ptr<double>();
  for_each_run(sizes, [=](int64_t g, int64_t begin, int64_t end) { kernels::gram(end - begin, d, rows + begin * d, out + g * d * d); });
  return products;
}

// Where torch's tensors begin: MKL's bits depend on it.
class AlignedDoubles {
 public:
  explicit AlignedDoubles(int64_t count)
      : values_(static_cast<double*>(::operator new[](static_cast<size_t>(count) * sizeof(double), kLine))) {}
  AlignedDoubles(const AlignedDoubles&) = delete;
  AlignedDoubles& operator=(const AlignedDoubles&) = delete;
  ~AlignedDoubles() { ::operator delete[](values_, kLine); }
  double* get() const { return values_; }

 private:
  static constexpr std::align_val_t kLine{64};
  double* values_;
};

// The rows of run g times slope g, [d, d]: by `slope(g, out)` on the CPU, which writes it, and by `slope_on_device(g)` elsewhere.
template <class Write, class Compute>
at::Tensor times_slopes(const at::Tensor& z, const std::vector<int64_t>& sizes, const Write& slope, const Compute& slope_on_device) {
  const int64_t d = z.size(1);
  if (!z.is_cpu()) {
    std::vector<at::Tensor> runs = z.split_with_sizes(sizes, 0);
    for (size_t g = 0; g < runs.size(); ++g) runs[g] = runs[g].mm(slope_on_device(static_cast<int64_t>(g)));
    return runs.empty() ? at::empty_like(z) : at::cat(runs);
  }
  const at::Tensor result = at::empty_like(z);
  const double* rows = z.const_data_ptr<double>();
  double* out = result.mutable_data_ptr<double>();
  for_each_run(sizes, [=, &slope](int64_t g, int64_t begin, int64_t end) {
    const AlignedDoubles own(d * d);
    slope(g, own.get());
    kernels::times_square(end - begin, d, rows + begin * d, own.get(), out + begin * d);
  });
  return result;
}

void refuse_second_derivatives() {
  if (!at::GradMode::is_enabled()) return;
  throw usage_error("the fused backend of this regulariser has no second derivative; compute it with engine dense");
}

// Written out because autograd would form the backward product of z^T z once for each of its two factors.
class OuterProducts : public torch::autograd::Function<OuterProducts> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& rows, std::vector<int64_t> sizes) {
    context->save_for_backward({rows});
    const at::Tensor products = grams(rows.detach(), sizes);
    context->saved_data["sizes"] = std::move(sizes);
    return products;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients) {
    refuse_second_derivatives();
    const at::Tensor z = context->get_saved_variables()[0].detach(), gradient = gradients[0].contiguous();
    const int64_t d = z.size(1);
    const double* all = gradient.is_cpu() ? gradient.const_data_ptr<double>() : nullptr;
    const auto slope = [=](int64_t g, double* out) {
      const double* own = all + g * d * d;
      for (int64_t i = 0; i < d; ++i) {
        for (int64_t j = 0; j < d; ++j) out[i * d + j] = own[i * d + j] + own[j * d + i];
      }
    };
    const auto on_device = [&](int64_t g) { return gradient.select(0, g) + gradient.select(0, g).t(); };
    return {times_slopes(z, context->saved_data["sizes"].toIntVector(), slope, on_device), at::Tensor()};
  }
};

// <M, M> summed over what groups are merged into, of all four at once: backward, the four products of a run with its M, its label's, its
// bias label's and that of all rows are one product with their weighted sum, formed where the cache holds it.
class SquaredProducts : public torch::autograd::Function<SquaredProducts> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& rows, const KeyGroups& groups) {
    const at::Tensor own = outer_products(rows.detach(), groups.sizes), label = merged(own, groups, Merged::kLabels),
                     bias = merged(own, groups, Merged::kBiases), all = merged(label, groups, Merged::kAll);
    context->save_for_backward({rows, own, label, bias, all, groups.label.cpu(), groups.bias.cpu()});
    context->saved_data["sizes"] = groups.sizes;
    const auto squares = [](const at::Tensor& products) { return products.flatten().dot(products.flatten()); };
    return at::stack({squares(own), squares(label), squares(bias), squares(all)});
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients) {
    refuse_second_derivatives();
    const auto saved = context->get_saved_variables();
    const at::Tensor z = saved[0].detach(), weights = (4 * gradients[0]).cpu();
    const double* w = weights.const_data_ptr<double>();
    const int64_t* label = saved[5].const_data_ptr<int64_t>();
    const int64_t* bias = saved[6].const_data_ptr<int64_t>();
    const at::Tensor of_all = saved[4].select(0, 0) * w[3];
    const int64_t square = z.size(1) * z.size(1);
    std::array<const double*, 4> m = {};
    if (z.is_cpu()) {
      m = {of_all.const_data_ptr<double>(), saved[1].const_data_ptr<double>(), saved[2].const_data_ptr<double>(),
           saved[3].const_data_ptr<double>()};
    }
    const auto slope = [=](int64_t g, double* out) {
      std::copy_n(m[0], square, out);
      for (const auto& [weight, matrix] :
           {std::pair(w[0], m[1] + g * square), std::pair(w[1], m[2] + label[g] * square), std::pair(w[2], m[3] + bias[g] * square)}) {
        kernels::add_scaled(square, weight, matrix, out);
      }
    };
    const auto on_device = [&](int64_t g) {
      return at::add(of_all, saved[1].select(0, g), w[0]).add_(saved[2].select(0, label[g]), w[1]).add_(saved[3].select(0, bias[g]), w[2]);
    };
    return {times_slopes(z, context->saved_data["sizes"].toIntVector(), slope, on_device), at::Tensor()};
  }
};

// For each row, the sum of the rows that it pairs with: pairs of one label whose later row has the smaller bias label.
class HalfPairs {
 public:
  HalfPairs(const at::Tensor& label, const at::Tensor& bias)
      : order_(label.argsort(true, 0, false).cpu()),
        label_(label.cpu().index_select(0, order_)),
        bias_(std::get<1>(at::_unique(bias.cpu(), true, true)).index_select(0, order_)) {}

  at::Tensor partner_sums(const at::Tensor& rows) const {
    const at::Tensor z = rows.detach().to(at::kCPU, at::kDouble).index_select(0, order_).contiguous(), sums = at::zeros_like(z);
    sweep(z, sums, false);
    sweep(z, sums, true);
    return at::zeros_like(z).index_copy_(0, order_, sums).to(rows.device(), rows.scalar_type());
  }

 private:
  // Walks the rows of each label in turn; a row is added to the running sums of the bias labels that may meet it later on: those below its
  // own on the way forward (partners come later and have less), above it on the way back.
  void sweep(const at::Tensor& z, const at::Tensor& sums, bool back) const {
    const int64_t n = z.size(0), d = z.size(1), biases = bias_.numel() == 0 ? 0 : bias_.max().item<int64_t>() + 1;
    const int64_t* label = label_.data_ptr<int64_t>();
    const int64_t* bias = bias_.data_ptr<int64_t>();
    const double* rows = z.data_ptr<double>();
    double* out = sums.data_ptr<double>();
    std::vector<double> met(biases * d);
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = back ? n - 1 - step : step;
      if (step > 0 && label[i] != label[back ? i + 1 : i - 1]) std::fill(met.begin(), met.end(), 0.0);
      const double* row = rows + i * d;
      for (int64_t k = 0; k < d; ++k) out[i * d + k] += met[bias[i] * d + k];
      for (int64_t b = back ? bias[i] + 1 : 0; b < (back ? biases : bias[i]); ++b) {
        for (int64_t k = 0; k < d; ++k) met[b * d + k] += row[k];
      }
    }
  }

  at::Tensor order_, label_, bias_;  // by label, in the order given within one
};

// The sums as an operation of autograd: linear and symmetric, so its gradient is itself.
class PartnerSums : public torch::autograd::Function<PartnerSums> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& z, const at::Tensor& label,
                            const at::Tensor& bias) {
    context->save_for_backward({label, bias});
    return HalfPairs(label, bias).partner_sums(z);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    return {apply(gradients[0], saved[0], saved[1]), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

KeyedRows KeyedRows::picked(const at::Tensor& rows) const {
  const auto pick = [&](const at::Tensor& of) { return of.defined() ? of.index_select(0, rows) : of; };
  return {pick(z), pick(label), pick(bias)};
}

void refuse_blocked(const ObjectiveInput& input, const char* objective) {
  if (input.engine != Engine::kBlocked) return;
  throw usage_error("{}: it has no blocked engine: sums go by groups of rows (fused) or over all pairs (dense); give engine auto",
                    objective);
}

bool spares_waits(const ObjectiveInput& input) {
  constexpr int64_t kMatrices = 24;  // of all pairs that FairKL's gradient keeps
  const int64_t rows = input.z.size(0) * input.z.size(1);
  return input.engine == Engine::kAuto && !input.z.is_cpu() && kMatrices * rows * rows * input.z.element_size() <= input.memory_budget;
}

KeyedRows keyed_rows(const ObjectiveInput& input, const char* objective) {
  refuse_keys(input, objective);
  const at::Tensor& z = input.z;
  require_embeddings(z, objective);
  const PairKeys keys = pair_keys(input, z.size(1), objective);
  const at::Tensor rows = z.transpose(0, 1).reshape({-1, z.size(2)});
  return {z.scalar_type() == at::kDouble ? rows : rows.to(at::kFloat), keys.label, keys.bias};
}

KeyGroups key_groups(const at::Tensor& label, const at::Tensor& bias) {
  const auto [labels, label_index] = at::_unique(label, true, true);
  const auto [biases, bias_index] = at::_unique(bias, true, true);
  const auto [keys, index, counts] = at::_unique2(label_index * biases.size(0) + bias_index, true, true, true);
  KeyGroups groups;
  groups.order = index.argsort(true, 0, false);
  const at::Tensor sizes = counts.cpu();
  groups.sizes.assign(sizes.data_ptr<int64_t>(), sizes.data_ptr<int64_t>() + sizes.numel());
  groups.counts = counts.to(at::kDouble);
  groups.group_of = index.index_select(0, groups.order);
  groups.labels = labels.size(0);
  groups.biases = biases.size(0);
  groups.label = keys.floor_divide(std::max<int64_t>(groups.biases, 1));
  groups.bias = keys.remainder(std::max<int64_t>(groups.biases, 1));
  return groups;
}

at::Tensor place_of(const KeyGroups& groups, Merged into) {
  if (into == Merged::kLabels) return groups.label;
  if (into == Merged::kBiases) return groups.bias;
  return into == Merged::kAll ? at::zeros_like(groups.label) : at::arange(groups.label.size(0), groups.label.options());
}

at::Tensor merged(const at::Tensor& per_group, const KeyGroups& groups, Merged into) {
  if (into == Merged::kGroups) return per_group;
  if (into == Merged::kAll) return per_group.sum(0, true);
  std::vector<int64_t> shape = per_group.sizes().vec();
  shape[0] = into == Merged::kLabels ? groups.labels : groups.biases;
  return at::zeros(shape, per_group.options()).index_add(0, place_of(groups, into), per_group);
}

at::Tensor outer_products(const at::Tensor& rows, const std::vector<int64_t>& sizes) {
  return OuterProducts::apply(rows.contiguous(), sizes);
}

at::Tensor squared_products(const at::Tensor& rows, const KeyGroups& groups) { return SquaredProducts::apply(rows.contiguous(), groups); }

at::Tensor partner_sums(const at::Tensor& rows, const at::Tensor& label, const at::Tensor& bias) {
  return PartnerSums::apply(rows, label, bias);
}

}  // namespace debias
