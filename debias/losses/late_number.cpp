#include "debias/losses/late_number.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>

namespace debias {

LateNumber::LateNumber(const at::Tensor& number) : pending_(number.detach().to(at::kDouble)) {}

at::Tensor LateNumber::tensor() const { return pending_.defined() ? pending_ : at::scalar_tensor(value_, at::kDouble); }

double LateNumber::value() const {
  if (pending_.defined()) read({this});
  return value_;
}

LateNumber& LateNumber::operator+=(const LateNumber& other) {
  if (!pending_.defined() && !other.pending_.defined()) {
    value_ += other.value_;
  } else {
    pending_ = tensor() + other.tensor();
  }
  return *this;
}

LateNumber LateNumber::times(double factor) const {
  return pending_.defined() ? LateNumber(pending_ * factor) : LateNumber(value_ * factor);
}

LateNumber LateNumber::over(double divisor) const {
  return pending_.defined() ? LateNumber(pending_ / divisor) : LateNumber(value_ / divisor);
}

LateNumber LateNumber::lesser(const LateNumber& a, const LateNumber& b) {
  if (!a.pending_.defined() && !b.pending_.defined()) return std::min(a.value_, b.value_);
  if (!a.pending_.defined()) return LateNumber(b.pending_.clamp_max(a.value_));
  return LateNumber(b.pending_.defined() ? at::minimum(a.pending_, b.pending_) : a.pending_.clamp_max(b.value_));
}

void LateNumber::read(const std::vector<const LateNumber*>& numbers) {
  std::vector<const LateNumber*> late;
  std::vector<at::Tensor> tensors;
  for (const LateNumber* number : numbers) {
    if (!number->pending_.defined()) continue;
    late.push_back(number);
    tensors.push_back(number->pending_);
  }
  if (late.empty()) return;
  RECORD_FUNCTION("debias::read_numbers", std::vector<c10::IValue>());
  const at::Tensor values = at::stack(tensors).cpu();
  for (size_t i = 0; i < late.size(); ++i) {
    late[i]->value_ = values.const_data_ptr<double>()[i];
    late[i]->pending_.reset();
  }
}

void keep_smallest(std::optional<LateNumber>& smallest, const std::optional<LateNumber>& candidate) {
  if (candidate) smallest = smallest ? LateNumber::lesser(*smallest, *candidate) : *candidate;
}

}  // namespace debias
