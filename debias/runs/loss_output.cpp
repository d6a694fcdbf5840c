#include "debias/runs/loss_output.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "debias/core/npy.h"

namespace debias {

void write_loss_outputs(const LossEvaluation& evaluation, const LossOutputs& files, const std::vector<int64_t>& shape) {
  if (!files.gradient.empty()) {
    const at::Tensor gradient = evaluation.gradient.cpu().contiguous();
    const DType dtype = gradient.scalar_type() == at::kDouble ? DType::kFloat64 : DType::kFloat32;
    write_npy(files.gradient, dtype, shape, gradient.data_ptr());
  }
  if (!files.per_anchor.empty()) {
    const at::Tensor losses = evaluation.result.per_anchor.to(at::kCPU, at::kDouble).contiguous();
    write_npy(files.per_anchor, DType::kFloat64, losses.sizes().vec(), losses.data_ptr());
  }
}

nlohmann::ordered_json loss_json(const LossEvaluation& evaluation, const LossRun& run) {
  const ObjectiveResult& result = evaluation.result;
  nlohmann::ordered_json out = {{"objective", run.name},
                                {"loss", result.value.item<double>()},
                                {"anchors", result.anchors},
                                {"anchors_used", static_cast<int64_t>(result.anchors_used)},
                                {"clamped", static_cast<int64_t>(result.clamped)},
                                {"min_estimate", nullptr},
                                {"engine", run.engine},
                                {"precision", enum_name(run.precision)},
                                {"device", run.device},
                                {"seconds_forward", evaluation.seconds_forward},
                                {"seconds_backward", evaluation.seconds_backward},
                                {"peak_bytes", evaluation.peak_bytes}};
  if (result.min_estimate) out["min_estimate"] = result.min_estimate->value();
  if (result.effective_sample_size) out["effective_sample_size"] = result.effective_sample_size->value();
  if (!result.mode.empty()) out["mode"] = result.mode;
  return out;
}

std::string loss_text(const LossEvaluation& evaluation, const LossRun& run) {
  std::string text;
  const ObjectiveResult& result = evaluation.result;
  const std::string mode = result.mode.empty() ? "" : fmt::format("mode {}, ", result.mode);
  text += fmt::format("objective       {} ({}{}, {}, {})\n", run.name, mode, run.engine, enum_name(run.precision), run.device);
  text += fmt::format("loss            {:.9g}\n", result.value.item<double>());
  const std::string of = result.clamped_of() == result.anchors ? "" : fmt::format(" of {}", result.clamped_of());
  text += fmt::format("anchors         {}, {} used, {}{} clamped\n", result.anchors, static_cast<int64_t>(result.anchors_used),
                      static_cast<int64_t>(result.clamped), of);
  if (result.min_estimate) text += fmt::format("min estimate    {:.9g}\n", result.min_estimate->value());
  if (result.effective_sample_size) text += fmt::format("effective N     {:.6g}\n", result.effective_sample_size->value());
  text += fmt::format("seconds         {:.3g} forward, {:.3g} backward\n", evaluation.seconds_forward, evaluation.seconds_backward);
  text += fmt::format("peak memory     {:.3g} MB beyond the input\n", static_cast<double>(evaluation.peak_bytes) / 1e6);
  return text;
}

}  // namespace debias
