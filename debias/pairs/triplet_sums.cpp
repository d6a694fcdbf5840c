#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "debias/core/error.h"
#include "debias/pairs/pair_engines.h"

namespace debias {
namespace {

// Indices of rows: anchors of one class, some positives of that class (the anchors themselves may be among them), and all negatives.
struct Panel {
  at::Tensor anchors, positives, negatives;
};

int64_t part(int64_t wanted, int64_t size) { return std::clamp<int64_t>(wanted, 1, size); }

void for_each_panel(const at::Tensor& group, int64_t terms, const std::function<void(const Panel&)>& visit) {
  const at::Tensor classes = std::get<0>(at::_unique(group));
  for (int64_t c = 0; c < classes.size(0); ++c) {
    const at::Tensor same = group.eq(classes[c]);
    const at::Tensor members = same.nonzero().squeeze(1), negatives = same.logical_not().nonzero().squeeze(1);
    const int64_t size = members.size(0), count = negatives.size(0);
    if (size < 2 || count == 0) continue;
    const int64_t anchors = part(terms / (size * count), size), positives = part(terms / (anchors * count), size);
    for (int64_t a = 0; a < size; a += anchors) {
      for (int64_t p = 0; p < size; p += positives) {
        visit({members.slice(0, a, a + anchors), members.slice(0, p, p + positives), negatives});
      }
    }
  }
}

struct PanelTerms {
  at::Tensor anchors, positives, negatives;  // rows of z
  at::Tensor x;                              // [anchors, positives, negatives] s_j - s_i
  at::Tensor self;                           // bool [anchors, positives]
};

PanelTerms terms_of(const Panel& panel, const at::Tensor& z, double temperature) {
  PanelTerms terms;
  terms.anchors = z.index_select(0, panel.anchors);
  terms.positives = z.index_select(0, panel.positives);
  terms.negatives = z.index_select(0, panel.negatives);
  const at::Tensor scaled = terms.anchors / temperature;
  terms.x = at::mm(scaled, terms.negatives.t()).unsqueeze(1) - at::mm(scaled, terms.positives.t()).unsqueeze(2);
  terms.self = panel.anchors.unsqueeze(1).eq(panel.positives.unsqueeze(0));
  return terms;
}

class LogAddTripletSums : public torch::autograd::Function<LogAddTripletSums> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& z, const Rows& rows, double epsilon,
                            int64_t panel_terms) {
    const at::Tensor& group = rows.group;
    context->save_for_backward({z, group});
    context->saved_data["temperature"] = rows.temperature;
    context->saved_data["epsilon"] = epsilon;
    context->saved_data["panel_terms"] = panel_terms;
    at::Tensor sums = at::zeros({z.size(0)}, z.options());
    for_each_panel(group, panel_terms, [&](const Panel& panel) {
      const PanelTerms terms = terms_of(panel, z, rows.temperature);
      sums.index_add_(0, panel.anchors, log_add(terms.x, epsilon).sum(2).masked_fill(terms.self, 0).sum(1));
    });
    return sums;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list upstream) {
    refuse_second_derivative("sums over positives and negatives", "panel");
    const auto saved = context->get_saved_variables();
    const at::Tensor &z = saved[0], &group = saved[1];
    const double t = context->saved_data["temperature"].toDouble(), epsilon = context->saved_data["epsilon"].toDouble();
    at::Tensor gradient = at::zeros_like(z);
    for_each_panel(group, context->saved_data["panel_terms"].toInt(), [&](const Panel& panel) {
      const PanelTerms terms = terms_of(panel, z, t);
      const at::Tensor scale = upstream[0].index_select(0, panel.anchors).unsqueeze(1) / t;
      const at::Tensor pull = (terms.x + epsilon).sigmoid_().masked_fill_(terms.self.unsqueeze(2), 0);
      const at::Tensor by_negative = pull.sum(1) * scale, by_positive = pull.sum(2) * -scale;
      gradient.index_add_(0, panel.anchors, at::mm(by_negative, terms.negatives) + at::mm(by_positive, terms.positives));
      gradient.index_add_(0, panel.negatives, at::mm(by_negative.t(), terms.anchors));
      gradient.index_add_(0, panel.positives, at::mm(by_positive.t(), terms.anchors));
    });
    return {gradient, {}, {}, {}};
  }
};

int64_t number_of_terms(const Rows& rows) {
  const at::Tensor positives = set_sizes(rows, PairSet::kEqual).to(at::kDouble), negatives = set_sizes(rows, PairSet::kUnequal);
  return static_cast<int64_t>((positives * negatives).sum().item<double>());
}

at::Tensor dense_triplet_sums(const Rows& rows, double epsilon) {
  if (const int64_t terms = number_of_terms(rows); terms > kDenseTerms) {
    throw usage_error(
        "dense engine: sums over an anchor's positives and negatives have {} terms here, it holds at most {}; give engine auto or blocked",
        terms, kDenseTerms);
  }
  const at::Tensor z = rows.flat();
  at::Tensor sums = (z * 0).sum(1);
  for_each_panel(rows.group, std::numeric_limits<int64_t>::max(), [&](const Panel& panel) {
    const PanelTerms terms = terms_of(panel, z, rows.temperature);
    sums = sums.index_add(0, panel.anchors, log_add(terms.x, epsilon).sum(2).masked_fill(terms.self, 0).sum(1));
  });
  return sums;
}

}  // namespace

at::Tensor log_add_triplet_sums(const Rows& rows, double epsilon, int64_t panel_terms) {
  if (rows.engine == Engine::kFused) {
    throw usage_error("fused backend: it cannot sum over an anchor's positives and negatives; give engine auto, blocked or dense");
  }
  const Engine engine = rows.engine == Engine::kDense ? Engine::kDense : Engine::kBlocked;
  if (rows.engines) rows.engines->note(engine);
  if (engine == Engine::kDense) return dense_triplet_sums(rows, epsilon);
  return LogAddTripletSums::apply(rows.flat(), rows, epsilon, panel_terms);
}

}  // namespace debias
