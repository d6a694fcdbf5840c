// A number of an objective's diagnostics that may still be in a tensor. Reading it makes the host wait for the tensor's device, so it is
// read on request, and several numbers are read with one wait.
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
  double value() const;                        // waits on the first call

  // These operators do not read a pending tensor, and round as double does.
  LateNumber& operator+=(const LateNumber& other);
  LateNumber times(double factor) const;
  LateNumber over(double divisor) const;
  static LateNumber lesser(const LateNumber& a, const LateNumber& b);

  // Reads all pending numbers with one wait.
  static void read(const std::vector<const LateNumber*>& numbers);

 private:
  at::Tensor tensor() const;  // double, 0-d

  mutable at::Tensor pending_;  // undefined: value_ is the number
  mutable double value_ = 0;
};

// Keeps the smaller of the numbers that are present.
void keep_smallest(std::optional<LateNumber>& smallest, const std::optional<LateNumber>& candidate);

}  // namespace debias
