// A number of an objective's diagnostics that may still be in a tensor: reading it makes the host wait for the tensor's device, so it is
// read when somebody asks, and several are read at once.
#pragma once

#include <ATen/core/Tensor.h>

#include <concepts>
#include <optional>
#include <vector>

namespace debias {

class LateNumber {
 public:
  LateNumber() = default;
  template <class Number>
  requires std::integral<Number> || std::floating_point<Number> LateNumber(Number value)
      : value_(static_cast<double>(value)) {}     // NOLINT(google-explicit-constructor): it is a number
  explicit LateNumber(const at::Tensor& number);  // 0-d; counts are exact up to 2^53

  operator double() const { return value(); }  // NOLINT(google-explicit-constructor)
  double value() const;                        // waits the first time

  // These operators read no pending tensor, and round as double does.
  LateNumber& operator+=(const LateNumber& other);
  LateNumber times(double factor) const;
  LateNumber over(double divisor) const;
  static LateNumber lesser(const LateNumber& a, const LateNumber& b);

  // All that have not been read, with one wait.
  static void read(const std::vector<const LateNumber*>& numbers);

 private:
  at::Tensor tensor() const;  // double, 0-d

  mutable at::Tensor pending_;  // undefined: value_ is the number
  mutable double value_ = 0;
};

// The lesser of what there is.
void keep_smallest(std::optional<LateNumber>& smallest, const std::optional<LateNumber>& candidate);

}  // namespace debias
