#include "debias/kernels/pair_kernels.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "debias/core/error.h"

namespace debias::kernels {
namespace {

TEST(CudaKernels, OfABuildWithoutThemRefuseByTheirNames) {
  const PairKernels& cuda = cuda_kernels();
  const SortedRows rows;
  const auto refusal = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return std::string(error.what()).substr(0, std::string(error.what()).find(':'));
    }
    return "nothing";
  };
  EXPECT_EQ(refusal([&] { cuda.equal_sums_forward(rows, nullptr); }), "equal_sums_forward");
  EXPECT_EQ(refusal([&] { cuda.equal_sums_backward(rows, nullptr, nullptr); }), "equal_sums_backward");
  EXPECT_EQ(refusal([&] { cuda.log_add_sums_forward(rows, {}, nullptr, nullptr, nullptr); }), "log_add_sums_forward");
  EXPECT_EQ(refusal([&] { cuda.log_add_sums_backward(rows, {}, nullptr, nullptr, nullptr); }), "log_add_sums_backward");
  EXPECT_EQ(refusal([&] { cuda.log_sums_forward(rows, {}, nullptr, {}); }), "log_sums_forward");
  EXPECT_EQ(refusal([&] { cuda.log_sums_backward(rows, {}, nullptr, {}, nullptr, nullptr); }), "log_sums_backward");
  EXPECT_EQ(refusal([&] { cuda.ranked_log_sums_forward(rows, {}, nullptr, nullptr); }), "ranked_log_sums_forward");
  EXPECT_EQ(refusal([&] { cuda.ranked_log_sums_backward(rows, {}, nullptr, nullptr, nullptr); }), "ranked_log_sums_backward");
}

}  // namespace
}  // namespace debias::kernels
