// `debias certify`: what holds on this machine, and what is said where it cannot be tried.
#include "tests/apps/command.h"
#include "tests/apps/rank_processes.h"

namespace debias::certify_cli_test {

class Certificates : public InFolder {
 protected:
  Certificates() { std::ofstream("small.yaml") << kSmallRecipe; }
};

class RankCertificates : public Certificates {};
class DeviceCertificates : public Certificates {};

TEST_F(RankCertificates, HoldForARecipe) {
  const char* device = fs::exists("/dev/nvidiactl") ? "cpu" : "auto";  // auto is the CPU without a GPU, and compared as strictly
  const auto result = run_debias({"certify", "ranks", "small.yaml", "--ranks", "2", "--steps", "4", "--device", device});
  EXPECT_EQ(result.exit, 0) << result.out << result.err;
  expect_parts(result.out, {"holds   2 processes = one process with micro_batch 8 after 4 steps, byte for byte",
                            "holds   2 processes with synchronise_norm = one process after a step"});
  EXPECT_THAT(result.out,
              HasSubstr("holds   2 processes, each with the loss of its own rows, with synchronise_norm = one process after a step"));
  EXPECT_EQ(times("memory layout", result.out), 0u);  // of what fails alone
}

// One process walks the pairs otherwise than rows of its own, and divides a short batch otherwise into parts than ranks into shares.
TEST_F(RankCertificates, HoldWhateverTheRecipeSaysOfPartsAndRows) {
  const auto result = run_debias({"certify", "ranks", "small.yaml", "train.batch_size=20", "train.loss_rows=own", "train.micro_batch=4",
                                  "train.drop_last=false", "--ranks", "2", "--steps", "6"});
  EXPECT_EQ(result.exit, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("holds   2 processes = one process with micro_batch 10 after 6 steps, byte for byte"));
}

// A low temperature enlarges roundings beyond what a claim allows. A trial of the same layout would be 0e+00 from itself, and another
// network far from this one. How large roundings are in between depends on the processor.
TEST_F(RankCertificates, ThatRoundingsMakeFailSayHowFarOneProcessIsFromItself) {
  const std::regex claim(
      "FAILS   2 processes with synchronise_norm = one process after a step, within 1e-06: ([0-9]e[+-][0-9]+) apart "
      "[(]one process in the other memory layout is ([0-9]e[+-][0-9]+) from itself[)]\n");
  for (const char* layout : {"train.channels_last=true", "train.channels_last=false"}) {
    const auto result =
        run_debias({"certify", "ranks", "small.yaml", "objective.temperature=0.001", layout, "--ranks", "2", "--steps", "1"});
    EXPECT_EQ(result.exit, 1) << result.err;
    std::smatch numbers;
    ASSERT_TRUE(std::regex_search(result.out, numbers, claim)) << layout << "\n" << result.out;
    EXPECT_THAT(std::stod(numbers[1]), AllOf(Gt(1e-6), Lt(0.1))) << layout;
    EXPECT_THAT(std::stod(numbers[2]), AllOf(Gt(0), Lt(0.1))) << layout;
    EXPECT_THAT(result.out, HasSubstr("holds   2 processes = one process with micro_batch 8 after 1 steps, byte for byte: ")) << layout;
    EXPECT_EQ(times("memory layout", result.out), times("FAILS", result.out)) << result.out;
  }
}

TEST_F(RankCertificates, EndWithASignalAndLeaveNothing) {
  const std::string folder = "temporary";
  fs::create_directory(folder);
  Background run({kBinary, "certify", "ranks", "small.yaml", "train.epochs=5000", "--ranks", "2", "--steps", "20000"},
                 {{"TMPDIR", folder}});
  ASSERT_TRUE(soon([&] { return !fs::is_empty(folder); })) << run.err();
  kill(run.id(), SIGINT);
  expect_complaint(run.wait(), 75, "certify: stopped by SIGINT");
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(DeviceCertificates, SayInOneLineWhereThereIsNoDevice) {
  if (fs::exists("/dev/nvidiactl")) GTEST_SKIP() << "there may be one here";
  expect_complaint(run_debias({"certify", "device"}), 2, "device cuda: CUDA is not available: no NVIDIA driver is loaded; use device cpu");
  expect_complaint(run_debias({"certify", "ranks", "small.yaml", "--device", "cuda"}), 2, "CUDA is not available");
}

TEST_F(DeviceCertificates, OfTheCpuAreThoseOfItself) {
  const auto result = run_debias({"certify", "device", "small.yaml", "--device", "cpu", "--steps", "3", "--json"});
  ASSERT_EQ(result.exit, 0) << result.out << result.err;
  const auto json = Json::parse(result.out);
  const auto objectives = Json::parse(run_debias({"list", "objectives", "--json"}).out);
  EXPECT_EQ(json["claims"].size(), objectives["objectives"].size() + 4);  // a step, float32, bfloat16, a stop
  for (const auto& claim : json["claims"]) EXPECT_TRUE(claim["holds"]) << claim;
  EXPECT_GT(json["costs"]["seconds_per_step"], 0);
  EXPECT_GT(json["costs"]["peak_bytes"], 0);
}

}  // namespace debias::certify_cli_test
