#include "debias/ranks/gather_rows.h"

#include <torch/csrc/autograd/custom_function.h>

namespace debias {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class GatherRows : public torch::autograd::Function<GatherRows> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& own, int64_t rows, const Ranks* ranks) {
    context->set_materialize_grads(false);  // rows that no loss reads leave their parameters without a gradient, as in one process
    const RowRange share = ranks->share_of(rows);
    context->saved_data["begin"] = share.begin;
    context->saved_data["end"] = share.end;
    return ranks->gather_rows(own, rows);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    at::Tensor own;
    if (gradients[0].defined()) {
      own = gradients[0].slice(0, context->saved_data["begin"].toInt(), context->saved_data["end"].toInt());
    }
    return {own, {}, {}};
  }
};

}  // namespace

at::Tensor gather_rows(const at::Tensor& own, int64_t rows, const Ranks& ranks) {
  return ranks.is_alone() ? own : GatherRows::apply(own, rows, &ranks);
}

}  // namespace debias
