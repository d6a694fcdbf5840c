// `debias loss` as a process: values, files, exit codes and messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <numbers>

#include "debias/core/npy.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"

namespace debias {
namespace loss_cli_test {

using testing::HasSubstr;
using Json = nlohmann::json;

// Four samples, two views (or three, or one): unit vectors at angles whose losses are known (tests/losses/golden_test.cpp).
std::vector<double> rows_at_angles(int views) {
  const double degrees[3][4] = {{0, 41, 133, 205}, {12, 66, 118, 240}, {23, 52, 146, 214}};
  std::vector<double> rows;
  for (int i = 0; i < 4; ++i) {
    for (int v = 0; v < views; ++v) {
      rows.push_back(std::cos(degrees[v][i] * std::numbers::pi / 180));
      rows.push_back(std::sin(degrees[v][i] * std::numbers::pi / 180));
    }
  }
  return rows;
}

class LossCli : public testing::Test {
 protected:
  LossCli() {
    write("z.npy", rows_at_angles(2), {4, 2, 2});
    write_integers("y.npy", {0, 0, 1, 1});
  }

  void write(const std::string& name, const std::vector<double>& values, const std::vector<int64_t>& shape) const {
    write_npy(folder_ / name, DType::kFloat64, shape, values.data());
  }
  void write_integers(const std::string& name, const std::vector<int64_t>& values) const {
    write_npy(folder_ / name, DType::kInt64, {static_cast<int64_t>(values.size())}, values.data());
  }

  ProcessResult loss(const std::string& objective, const std::vector<std::string>& more = {},
                     const std::string& embeddings = "z.npy") const {
    return run_debias(with({"loss", "--objective", objective, "--embeddings", folder_ / embeddings}, more));
  }
  Json json(const std::string& objective, std::vector<std::string> more = {}, const std::string& embeddings = "z.npy") const {
    more.push_back("--json");
    const ProcessResult result = loss(objective, more, embeddings);
    EXPECT_EQ(result.exit, 0) << result.err;
    return Json::parse(result.out, nullptr, false);
  }
  std::vector<double> doubles(const std::string& name) const {
    const auto array = read_npy(folder_ / name);
    EXPECT_EQ(array.dtype, DType::kFloat64);
    const auto values = array.as<double>();
    return {values.begin(), values.end()};
  }

  TemporaryFolder folder_;
};

TEST_F(LossCli, PrintsTheKnownValueWithItsDiagnostics) {
  const Json out = json("debiased_negatives");
  const auto ordered = nlohmann::ordered_json::parse(loss("debiased", {"--json"}).out);
  std::vector<std::string> keys;
  for (const auto& item : ordered.items()) keys.push_back(item.key());
  EXPECT_EQ(keys, (std::vector<std::string>{"objective", "loss", "anchors", "anchors_used", "clamped", "min_estimate", "engine",
                                            "precision", "device", "seconds_forward", "seconds_backward", "peak_bytes"}));
  EXPECT_EQ(out["objective"], "debiased_negatives");
  EXPECT_NEAR(out["loss"].get<double>(), 0.500208463, 1e-9);
  EXPECT_EQ(out["anchors"], 8);
  EXPECT_EQ(out["anchors_used"], 8);
  EXPECT_EQ(out["clamped"], 2);
  EXPECT_LT(out["min_estimate"].get<double>(), std::exp(-2.0));
  EXPECT_EQ(out["engine"], "dense");
  EXPECT_EQ(out["precision"], "fp64");
  EXPECT_EQ(out["device"], "cpu");
  EXPECT_GT(out["seconds_forward"].get<double>(), 0);
  EXPECT_GT(out["seconds_backward"].get<double>(), 0);
  EXPECT_GE(out["peak_bytes"].get<int64_t>(), 0);
}

TEST_F(LossCli, EveryObjectiveItsAliasesAndOptions) {
  EXPECT_NEAR(json("infonce")["loss"].get<double>(), 0.756893864, 1e-9);
  EXPECT_NEAR(json("simclr", {"--set", "temperature=0.07"})["loss"].get<double>(), 0.105501200, 1e-9);
  EXPECT_TRUE(json("ntxent")["min_estimate"].is_null());
  EXPECT_EQ(json("ntxent")["objective"], "infonce");
  EXPECT_NEAR(json("unbiased", {"--labels", folder_ / "y.npy"})["loss"].get<double>(), 0.466996736, 1e-9);
  EXPECT_NEAR(json("unbiased", {"--labels", folder_ / "y.npy", "--variant", "authors"})["loss"].get<double>(), 0.340647031, 1e-9);
  const Json fallback = json("debiased", {"--set", "temperature=0.07", "--set", "clamp=fallback"});
  EXPECT_NEAR(fallback["loss"].get<double>(), 0.054848945, 1e-9);
  EXPECT_EQ(fallback["clamped"], 7);
  const Json positives = json("debiased_positives");
  EXPECT_NEAR(positives["loss"].get<double>(), 0.401999982, 1e-9);
  EXPECT_NEAR(positives["min_estimate"].get<double>(), 1.362632789, 1e-9);
  EXPECT_NEAR(json("debiased_positives", {"--variant", "authors"})["loss"].get<double>(), 0.267143144, 1e-9);
  write_integers("b.npy", {0, 1, 0, 1});
  const std::vector<std::pair<std::string, double>> others = {{"combined_debiased", (0.500208463 + 0.401999982) / 2},
                                                              {"hard_negatives", 0.986783941},
                                                              {"supcon", 4.467883819},
                                                              {"eps_supinfonce", 1.046384966},
                                                              {"eps_supcon", 4.470993856},
                                                              {"biascon", 9.348632186}};
  for (const auto& [objective, value] : others) {
    const Json found = json(objective, {"--labels", folder_ / "y.npy", "--bias", folder_ / "b.npy"});
    EXPECT_NEAR(found["loss"].get<double>(), value, 1e-8) << objective;
  }
}

TEST_F(LossCli, SettingsOfTheCommandHaveTheirPublishedEffect) {
  write_integers("b.npy", {0, 1, 0, 1});
  const auto value = [&](const std::string& objective, std::vector<std::string> settings) {
    std::vector<std::string> words = {"--labels", folder_ / "y.npy", "--bias", folder_ / "b.npy"};
    for (const auto& setting : settings) words.insert(words.end(), {"--set", setting});
    return json(objective, words)["loss"].get<double>();
  };
  EXPECT_NEAR(value("bayesian", {"form=paper", "alpha=0.9", "beta=1"}), 1.063618590, 1e-8);
  EXPECT_NEAR(value("end", {"alpha=1", "beta=0"}), 0.161039999, 1e-8);
  EXPECT_NEAR(value("end", {"alpha=0", "beta=1", "full_pairs=true"}), 0.364817927, 1e-8);
  EXPECT_NEAR(value("fairkl", {"mode=kl"}), 2.479111290 + 0.769683533, 1e-8);
  EXPECT_NEAR(value("eps_supinfonce", {"epsilon=inf"}), -4.863990576, 1e-8);
}

TEST_F(LossCli, LogitsTakeAPrior) {
  write("logits.npy", {1, -0.5, 0.25}, {1, 3});
  write("prior.npy", {0.7, 0.2, 0.1}, {3, 1});
  write_integers("one.npy", {1});
  write_integers("zero.npy", {0});
  const std::vector<std::string> label = {"--labels", folder_ / "one.npy"};
  const auto prior = with(label, {"--bias", folder_ / "zero.npy", "--prior", folder_ / "prior.npy"});
  EXPECT_NEAR(json("bias_balanced", prior, "logits.npy")["loss"].get<double>(), 2.876070633, 1e-8);
  EXPECT_NEAR(json("ce", label, "logits.npy")["loss"].get<double>(), 2.027975744, 1e-8);
}

TEST_F(LossCli, KeysAreComparedWithInPlaceOfTheRows) {
  const auto rows = rows_at_angles(2);  // sample by sample; keys hold all rows, view by view
  std::vector<double> keys;
  for (const size_t view : {0, 1}) {
    for (size_t i = 0; i < 4; ++i) keys.insert(keys.end(), {rows[4 * i + 2 * view], rows[4 * i + 2 * view + 1]});
  }
  write("q.npy", {keys.begin(), keys.begin() + 8}, {4, 2});  // the first views
  write("k.npy", {keys.begin() + 8, keys.end()}, {4, 2});    // the second ones
  write_integers("ids.npy", {7, 8, 9, 10});
  write_integers("yk.npy", {0, 0, 1, 1});
  const auto with_ids = [&](const std::string& objective, const std::vector<std::string>& more) {
    const std::vector<std::string> ids = {"--keys", folder_ / "k.npy", "--ids", folder_ / "ids.npy", "--key-ids", folder_ / "ids.npy"};
    return json(objective, with(more, ids), "q.npy");
  };
  double expected = 0;  // MoCo v3: cross-entropy of q k^T / t against the own key
  for (size_t i = 0; i < 4; ++i) {
    double sum = 0, own = 0;
    for (size_t j = 0; j < 4; ++j) {
      const double s = (keys[2 * i] * keys[8 + 2 * j] + keys[2 * i + 1] * keys[9 + 2 * j]) / 0.5;
      sum += std::exp(s);
      if (i == j) own = s;
    }
    expected += (std::log(sum) - own) / 4;
  }
  const Json found = with_ids("infonce", {});
  EXPECT_NEAR(found["loss"].get<double>(), expected, 1e-9);
  EXPECT_EQ(found["engine"], "dense");
  const Json blocked = with_ids("infonce", {"--engine", "blocked", "--grad-out", folder_ / "g.npy"});
  EXPECT_NEAR(blocked["loss"].get<double>(), expected, 1e-9);
  EXPECT_EQ(blocked["engine"], "blocked");
  EXPECT_EQ(read_npy(folder_ / "g.npy").shape, (std::vector<int64_t>{4, 2}));
  EXPECT_TRUE(with_ids("supcon", {"--labels", folder_ / "y.npy", "--key-labels", folder_ / "yk.npy"})["loss"].is_number());
}

TEST_F(LossCli, FairKlNamesItsModeAndTakesFeaturesInPlaceOfBiasLabels) {
  write_integers("b.npy", {0, 1, 0, 1});
  write("g.npy", {1, 0, 0, 1, 1, 0, 0, 1}, {4, 2});
  const std::vector<std::string> labels = {"--labels", folder_ / "y.npy"};
  const auto value = [&](const std::vector<std::string>& more) { return json("fairkl", with(labels, more)); };
  const Json values = value({"--bias", folder_ / "b.npy"}), features = value({"--weights", folder_ / "g.npy"});
  EXPECT_EQ(values["mode"], "authors");
  EXPECT_EQ(features["mode"], "authors");
  EXPECT_NEAR(features["loss"].get<double>(), values["loss"].get<double>(), 1e-12);
  EXPECT_EQ(value({"--bias", folder_ / "b.npy", "--set", "pooling=anchor"})["mode"], "mean");
  EXPECT_EQ(value({"--bias", folder_ / "b.npy", "--variant", "paper"})["mode"], "kl");
  EXPECT_THAT(loss("fairkl", with(labels, {"--bias", folder_ / "b.npy"})).out, HasSubstr("fairkl (mode authors, "));
  expect_complaint(loss("fairkl", with(labels, {"--bias", folder_ / "b.npy", "--engine", "blocked"})), 2, {"no blocked engine"});
  expect_complaint(loss("fairkl", with(labels, {"--bias", folder_ / "b.npy", "--set", "pooling=anchor", "--set", "kld=0"})), 2, {"kld"});
}

TEST_F(LossCli, FormDComputesDenseWhereAsked) {
  for (const std::string engine : {"dense", "blocked"}) {
    EXPECT_EQ(json("eps_supinfonce", {"--labels", folder_ / "y.npy", "--set", "form=d", "--engine", engine})["engine"], engine);
  }
  expect_complaint(loss("eps_supinfonce", {"--labels", folder_ / "y.npy", "--set", "form=d", "--engine", "fused", "--precision", "fp32"}),
                   2, {"fused backend"});
}

TEST_F(LossCli, KeysThatDoNotFitAreRefused) {
  write("k.npy", {1, 0, 0, 1, 1, 0}, {3, 2});
  write("wide.npy", {1, 0, 0}, {1, 3});
  write_integers("three.npy", {0, 1, 2});
  write_integers("y2.npy", {0, 1});
  const std::string keys = folder_ / "k.npy";
  expect_refused(loss("infonce", {"--keys", folder_ / "wide.npy"}), 3, "as many dimensions as the embeddings");
  expect_refused(loss("infonce", {"--keys", keys}), 3, "has no positive");
  expect_refused(loss("infonce", {"--keys", keys, "--ids", folder_ / "y.npy", "--key-ids", folder_ / "y2.npy"}), 3, "2 ids for 3 keys");
  expect_refused(loss("infonce", {"--keys", keys, "--key-ids", folder_ / "three.npy"}), 2, "add --ids");
  expect_refused(loss("supcon", {"--keys", keys}), 3, "nothing has a positive");
  expect_refused(loss("infonce", {"--key-ids", folder_ / "three.npy"}), 2, "add --keys");
  expect_refused(loss("supcon", {"--labels", folder_ / "y.npy", "--keys", keys}), 2, "labels of the keys");
  expect_refused(loss("biascon", {"--labels", folder_ / "y.npy", "--bias", folder_ / "y.npy", "--keys", keys}), 2, "takes no keys");
  expect_refused(loss("infonce", {"--keys", keys, "--engine", "fused", "--precision", "fp32"}), 2, "without keys");
}

TEST_F(LossCli, ThreeViews) {
  write("three.npy", rows_at_angles(3), {4, 3, 2});
  EXPECT_NEAR(json("debiased_positives", {"--set", "aggregation=pairs"}, "three.npy")["loss"].get<double>(), 0.422150826, 1e-9);
  EXPECT_NEAR(json("debiased_positives", {}, "three.npy")["loss"].get<double>(), 0.397493809, 1e-9);
}

TEST_F(LossCli, GradientGoesThroughTheNormalisation) {
  std::vector<double> scaled = rows_at_angles(2);
  for (size_t row = 0; row < scaled.size() / 2; ++row) {
    for (const size_t column : {0, 1}) scaled[2 * row + column] *= static_cast<double>(row + 1);  // row r has norm r + 1
  }
  write("scaled.npy", scaled, {4, 2, 2});
  const Json out = json("infonce", {"--grad-out", folder_ / "g.npy"}, "scaled.npy");
  EXPECT_NEAR(out["loss"].get<double>(), 0.756893864, 1e-9);
  const auto gradient = doubles("g.npy");
  ASSERT_EQ(gradient.size(), scaled.size());
  const double step = 1e-5;
  for (size_t i = 0; i < scaled.size(); i += 5) {
    auto moved = scaled;
    moved[i] += step;
    write("up.npy", moved, {4, 2, 2});
    moved[i] -= 2 * step;
    write("down.npy", moved, {4, 2, 2});
    const double up = json("infonce", {}, "up.npy")["loss"], down = json("infonce", {}, "down.npy")["loss"];
    EXPECT_NEAR(gradient[i], (up - down) / (2 * step), 1e-8) << i;
  }
  EXPECT_GT(std::abs(json("infonce", {"--normalize", "false"}, "scaled.npy")["loss"].get<double>() - 0.756893864), 0.1);
}

TEST_F(LossCli, AZeroRowHasAFiniteGradient) {
  std::vector<double> rows = rows_at_angles(2);
  rows[2] = rows[3] = 0;
  write("zero.npy", rows, {4, 2, 2});
  const Json out = json("debiased_positives", {"--grad-out", folder_ / "g.npy"}, "zero.npy");
  EXPECT_TRUE(out["loss"].is_number());
  for (double value : doubles("g.npy")) EXPECT_TRUE(std::isfinite(value));
}

TEST_F(LossCli, PerAnchorLossesAverageToTheLoss) {
  const Json out =
      json("unbiased", {"--labels", folder_ / "y.npy", "--per-anchor-out", folder_ / "a.npy", "--set", "base_temperature=0.25"});
  const auto losses = doubles("a.npy");
  ASSERT_EQ(losses.size(), 8u);
  double sum = 0;
  for (double value : losses) sum += value;
  EXPECT_NEAR(sum / 8, out["loss"].get<double>(), 1e-12);
  EXPECT_NEAR(out["loss"].get<double>(), 2 * 0.466996736, 2e-9);
}

TEST_F(LossCli, AnchorsDroppedFromTheMeanAreNan) {
  write_integers("y3.npy", {0, 0, 0, 0});
  const Json out = json("unbiased", {"--labels", folder_ / "y3.npy", "--per-anchor-out", folder_ / "a.npy"});
  EXPECT_EQ(out["anchors_used"], 0);
  EXPECT_EQ(out["loss"], 0.0);
  for (double value : doubles("a.npy")) EXPECT_TRUE(std::isnan(value));
}

TEST_F(LossCli, Precisions) {
  const double exact = 0.756893864;
  const Json single = json("infonce", {"--precision", "fp32", "--grad-out", folder_ / "g.npy"});
  EXPECT_NEAR(single["loss"].get<double>(), exact, 1e-6);
  EXPECT_EQ(single["precision"], "fp32");
  EXPECT_EQ(read_npy(folder_ / "g.npy").dtype, DType::kFloat32);
  EXPECT_EQ(read_npy(folder_ / "g.npy").shape, (std::vector<int64_t>{4, 2, 2}));
  const Json half = json("infonce", {"--precision", "bf16"});
  EXPECT_NEAR(half["loss"].get<double>(), exact, 2e-2);
  EXPECT_NE(half["loss"], single["loss"]);
  const auto doubles_of = rows_at_angles(2);
  const std::vector<float> floats(doubles_of.begin(), doubles_of.end());
  write_npy(folder_ / "f.npy", DType::kFloat32, {4, 2, 2}, floats.data());
  EXPECT_EQ(json("infonce", {}, "f.npy")["precision"], "fp32");
  EXPECT_EQ(json("infonce", {"--precision", "fp64"}, "f.npy")["precision"], "fp64");
}

TEST_F(LossCli, LinesForPeople) {
  const ProcessResult result =
      loss("debiased_negatives", {"--repeat", "3", "--threads", "1", "--engine", "dense", "--normalize", "assert"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("loss            0.500208463\n"));
  EXPECT_THAT(result.out, HasSubstr("8, 8 used, 2 clamped"));
  EXPECT_EQ(result.err, "");
}

TEST_F(LossCli, AMemoryBudgetThatTheDenseFormExceedsIsSaid) {
  EXPECT_EQ(loss("infonce", {"--memory-budget", "256MB"}).err, "");
  const ProcessResult result = loss("infonce", {"--memory-budget", "64B"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_THAT(result.err, HasSubstr("--memory-budget"));
  expect_refused(loss("infonce", {"--memory-budget", "many"}), 2, "--memory-budget: 'many' is not a size");
}

TEST_F(LossCli, MistakesInTheCommandAreExitTwo) {
  expect_refused(loss("debiased_negative"), 2, "unknown objective 'debiased_negative'; did you mean 'debiased_negatives'?");
  expect_refused(loss("cross_entropy", {"--labels", folder_ / "y.npy", "--engine", "fused"}), 2, "--engine dense");
  expect_refused(loss("infonce", {"--set", "temperature=0"}), 2, "in [0.001, 100]");
  expect_refused(loss("infonce", {"--set", "temprature=1"}), 2, "did you mean 'temperature'?");
  expect_refused(loss("infonce", {"--set", "temperature"}), 2, "not of the form");
  expect_refused(loss("debiased", {"--set", "clamp=flor"}), 2, "did you mean 'floor'?");
  expect_refused(loss("infonce", {"--normalize", "maybe"}), 2, "--normalize");
  expect_refused(loss("infonce", {"--precision", "fp16"}), 2, "--precision");
  expect_refused(loss("infonce", {"--variant", "autors"}), 2, "did you mean 'authors'?");
  expect_refused(loss("infonce", {"--device", "tpu"}), 2, "--device");
  expect_refused(loss("infonce", {"--repeat", "-1"}), 2, "repeat");
  expect_refused(loss("infonce", {"--prior", folder_ / "y.npy"}), 2, "takes no prior");
  expect_refused(loss("unbiased"), 2, "--labels");
  expect_refused(loss("infonce", {"--set", "drop_false_negatives=true"}), 2, "needs labels");
  expect_refused(run_debias({"loss", "--objective", "infonce"}), 2, "--embeddings");
  write("one.npy", rows_at_angles(1), {4, 2});
  expect_refused(loss("infonce", {}, "one.npy"), 2, "at least 2 views");
}

TEST_F(LossCli, FaultsInTheDataAreExitThree) {
  expect_refused(loss("infonce", {}, "absent.npy"), 3, "absent.npy");
  auto rows = rows_at_angles(2);
  rows[14] = NAN;
  write("nan.npy", rows, {4, 2, 2});
  expect_refused(loss("infonce", {}, "nan.npy"), 3, "sample 3, view 1");
  rows[14] = 1.5;
  write("long.npy", rows, {4, 2, 2});
  expect_refused(loss("infonce", {"--normalize", "assert"}, "long.npy"), 3, "sample 3, view 1");
  write("flat.npy", rows, {16});
  expect_refused(loss("infonce", {}, "flat.npy"), 3, "[B, V, D]");
  write("empty.npy", {}, {0, 2, 2});
  expect_refused(loss("infonce", {}, "empty.npy"), 3, "empty");
  expect_refused(loss("infonce", {}, "y.npy"), 3, "float32 or float64, found int64");
  write_integers("short.npy", {0, 1, 2});
  expect_refused(loss("unbiased", {"--labels", folder_ / "short.npy"}), 3, "3 labels for 4 samples");
  expect_refused(loss("infonce", {"--bias", folder_ / "short.npy"}), 3, "3 bias labels for 4 samples");
  expect_refused(loss("infonce", {"--labels", folder_ / "z.npy"}), 3, "z.npy");
  write("w.npy", {1, 2, 3}, {3, 1});
  expect_refused(loss("softcon", {"--labels", folder_ / "y.npy", "--weights", folder_ / "w.npy"}), 3, "weights");
  expect_refused(loss("infonce", {"--weights", folder_ / "w.npy"}), 2, "'infonce' takes no bias features");
}

}  // namespace loss_cli_test
}  // namespace debias
