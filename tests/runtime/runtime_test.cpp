#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <limits>

#include "debias/core/error.h"
#include "debias/runtime/device.h"
#include "debias/runtime/unit_rows.h"
#include "tests/support/refusals.h"

namespace debias {
namespace runtime_test {

at::ScalarType type_of_a_product() { return at::mm(at::ones({2, 2}), at::ones({2, 2})).scalar_type(); }

TEST(Autocast, HoldsWhileItLivesAndGivesBackWhatWasInForce) {
  {
    const Autocast rounded(at::kCPU, Precision::kBf16);
    EXPECT_EQ(type_of_a_product(), at::kBFloat16);
    {
      const Autocast exact(at::kCPU, Precision::kFp32);
      EXPECT_EQ(type_of_a_product(), at::kFloat);
    }
    EXPECT_EQ(type_of_a_product(), at::kBFloat16);
  }
  EXPECT_EQ(type_of_a_product(), at::kFloat);
}

TEST(Autocast, ForgetsCastWeightsAtItsEnd) {
  const at::Tensor weight = at::ones({2, 2}).set_requires_grad(true);
  const auto product = [&] {
    const Autocast rounded(at::kCPU, Precision::kBf16);
    return at::mm(at::ones({2, 2}), weight)[0][0].item<float>();
  };
  EXPECT_EQ(product(), 2);
  {
    const at::NoGradGuard no_grad;
    weight.fill_(3);
  }
  EXPECT_EQ(product(), 6);
}

TEST(UnitRows, AreDividedByTheirNormsAndZeroRowsStay) {
  const at::Tensor rows = at::tensor({3.0, 4.0, 0.0, 0.0}).view({1, 2, 2});
  EXPECT_TRUE(at::equal(unit_rows(rows), at::tensor({0.6, 0.8, 0.0, 0.0}).view({1, 2, 2})));
  EXPECT_TRUE(at::equal(unit_rows(rows, "test"), unit_rows(rows)));
}

TEST(UnitRows, ThatAreNotFiniteAreRefusedByWhoAsks) {
  const at::Tensor rows = at::full({2, 2}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(error_of(ErrorKind::kNumeric, [&] { unit_rows(rows, "tsne"); }).find("tsne: "), 0u);
}

TEST(Threads, AreThoseThatAreAskedForElseNoMoreThanBefore) {
  use_threads(3);
  EXPECT_EQ(at::get_num_threads(), 3);
  use_threads();
  EXPECT_LE(at::get_num_threads(), 3);
}

TEST(Device, ThatAProcessSeesAloneIsItsOwnWhateverItsNumber) {
  EXPECT_EQ(own_device(c10::kCUDA, 0, 1), c10::Device(c10::kCUDA, 0));
  EXPECT_EQ(own_device(c10::kCUDA, 3, 1), c10::Device(c10::kCUDA, 0));
}

TEST(Device, ThatCannotBeUsedSaysWhichLibraryIsMissing) {
  EXPECT_EQ(load_failure("libcudnn.so.9: cannot open shared object file: No such file or directory"), "libcudnn.so.9 was not found");
  EXPECT_EQ(load_failure("libtorch_cuda.so: undefined symbol: x"), "libtorch_cuda.so: undefined symbol: x");
}

TEST(Device, StandsInItsLineWithNameOrReason) {
  EXPECT_EQ(device_line(choose_device("cpu")), "device: cpu");
  DeviceChoice choice;
  choice.cpu_reason = "no NVIDIA driver is loaded";
  EXPECT_EQ(device_line(choice), "device: cpu, since no NVIDIA driver is loaded");
  EXPECT_EQ(device_line({.device = c10::Device(c10::kCUDA, 1), .name = "NVIDIA H100"}), "device: cuda:1 NVIDIA H100");
}

TEST(Device, IsDescribedByTheDriver) {
  const auto found = describe_cuda_device(0, DEBIAS_STUB_DRIVER);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "Stub 9000");
  EXPECT_EQ(found->uuid, "2838485868788898a8b8c8d8e8f80818");  // the second version's, which distinguishes MIG instances
  EXPECT_FALSE(describe_cuda_device(1, DEBIAS_STUB_DRIVER));
  EXPECT_FALSE(describe_cuda_device(0, "libno_driver_here.so.1"));
}

TEST(Device, OfAProcessIsTheOneOfItsNumber) {
  EXPECT_EQ(own_device(c10::kCUDA, 0, 2), c10::Device(c10::kCUDA, 0));
  EXPECT_EQ(own_device(c10::kCUDA, 1, 2), c10::Device(c10::kCUDA, 1));
  EXPECT_EQ(error_of(ErrorKind::kResource, [] { own_device(c10::kCUDA, 2, 2); }),
            "device cuda: process 2 of this machine has none of its own, there are 2; start at most 2, or use device cpu");
}

}  // namespace runtime_test
}  // namespace debias
