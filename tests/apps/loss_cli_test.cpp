// `debias loss` as a process: that files and settings reach the objective, what is printed and what is written.
#include "tests/apps/command.h"

namespace debias::loss_cli_test {

// Four samples, two views (or three): unit vectors at angles whose losses are known (tests/golden/naive.py).
std::vector<double> rows_at_angles(int views) {
  const double degrees[3][4] = {{0, 41, 133, 205}, {12, 66, 118, 240}, {23, 52, 146, 214}};
  std::vector<double> rows;
  for (int i = 0; i < 4; ++i) {
    for (int v = 0; v < views; ++v) {
      rows.insert(rows.end(), {std::cos(degrees[v][i] * M_PI / 180), std::sin(degrees[v][i] * M_PI / 180)});
    }
  }
  return rows;
}

class LossCli : public InFolder {
 protected:
  LossCli() {
    write("z.npy", rows_at_angles(2), {4, 2, 2});
    write("three.npy", rows_at_angles(3), {4, 3, 2});
    write_integers("y.npy", {0, 0, 1, 1});
    write_integers("b.npy", {0, 1, 0, 1});
  }
  static void write(const std::string& name, const std::vector<double>& values, const std::vector<int64_t>& shape) {
    write_npy(name, DType::kFloat64, shape, values.data());
  }
  static void write_integers(const std::string& name, const std::vector<int64_t>& values) {
    write_npy(name, DType::kInt64, {std::ssize(values)}, values.data());
  }
  static ProcessResult loss(const std::string& objective, const Words& more = {}, const std::string& embeddings = "z.npy") {
    return run_debias(with({"loss", "--objective", objective, "--embeddings", embeddings}, more));
  }
  static Json found(const std::string& objective, const Words& more = {}, const std::string& embeddings = "z.npy") {
    return json_of(loss(objective, with(more, {"--json"}), embeddings));
  }
  static std::vector<double> doubles(const std::string& name) {
    const auto array = read_npy(name);
    EXPECT_EQ(array.dtype, DType::kFloat64);
    return {array.as<double>().begin(), array.as<double>().end()};
  }
};

TEST_F(LossCli, PrintsTheKnownValueWithItsDiagnostics) {
  const auto out = nlohmann::ordered_json::parse(loss("debiased", {"--json"}).out);
  Words keys;
  for (const auto& item : out.items()) keys.push_back(item.key());
  EXPECT_THAT(keys, ElementsAre("objective", "loss", "anchors", "anchors_used", "clamped", "min_estimate", "engine", "precision", "device",
                                "seconds_forward", "seconds_backward", "peak_bytes"));
  EXPECT_EQ(out["objective"], "debiased_negatives");
  EXPECT_NEAR(out["loss"].get<double>(), 0.500208463, 1e-9);
  EXPECT_EQ(out["anchors"], 8);
  EXPECT_EQ(out["anchors_used"], 8);
  EXPECT_EQ(out["clamped"], 2);
  EXPECT_LT(out["min_estimate"].get<double>(), std::exp(-2.0));
  EXPECT_EQ(out["engine"], "dense");
  EXPECT_EQ(out["precision"], "fp64");
  EXPECT_EQ(out["device"], "cpu");
  for (const char* seconds : {"seconds_forward", "seconds_backward"}) EXPECT_GT(out[seconds].get<double>(), 0);
  EXPECT_GE(out["peak_bytes"].get<int64_t>(), 0);
  const ProcessResult text = loss("debiased_negatives", {"--repeat", "3", "--threads", "1", "--engine", "dense", "--normalize", "assert"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("loss            0.500208463\n"), HasSubstr("8, 8 used, 2 clamped")));
  EXPECT_EQ(text.err, "");
}

TEST_F(LossCli, FilesAndSettingsReachTheObjective) {
  write("logits.npy", {1, -0.5, 0.25}, {1, 3});
  write("prior.npy", {0.7, 0.2, 0.1}, {3, 1});
  write_integers("one.npy", {1});
  write_integers("zero.npy", {0});
  const struct {
    std::string objective;
    Words more;
    double value;
    std::string embeddings = "z.npy";
  } rows[] = {
      {"simclr", {"--set", "temperature=0.07"}, 0.105501200},
      {"unbiased", {"--labels", "y.npy"}, 0.466996736},
      {"unbiased", {"--labels", "y.npy", "--variant", "authors"}, 0.340647031},
      {"debiased", {"--set", "temperature=0.07", "--set", "clamp=fallback"}, 0.054848945},
      {"biascon", {"--labels", "y.npy", "--bias", "b.npy"}, 9.348632186},
      {"eps_supinfonce", {"--labels", "y.npy", "--set", "epsilon=inf"}, -4.863990576},
      {"end", {"--labels", "y.npy", "--bias", "b.npy", "--set", "alpha=0", "--set", "beta=1", "--set", "full_pairs=true"}, 0.364817927},
      {"debiased_positives", {"--set", "aggregation=pairs"}, 0.422150826, "three.npy"},
      {"bias_balanced", {"--labels", "one.npy", "--bias", "zero.npy", "--prior", "prior.npy"}, 2.876070633, "logits.npy"}};
  for (const auto& [objective, more, value, embeddings] : rows) {
    EXPECT_NEAR(found(objective, more, embeddings)["loss"].get<double>(), value, 1e-8) << objective;
  }
  EXPECT_TRUE(found("ntxent")["min_estimate"].is_null());
  for (const std::string engine : {"dense", "blocked"}) {
    EXPECT_EQ(found("eps_supinfonce", {"--labels", "y.npy", "--set", "form=d", "--engine", engine})["engine"], engine);
  }
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
  const auto with_ids = [&](const std::string& objective, const Words& more) {
    return found(objective, with(more, {"--keys", "k.npy", "--ids", "ids.npy", "--key-ids", "ids.npy"}), "q.npy");
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
  const Json dense = with_ids("infonce", {}), blocked = with_ids("infonce", {"--engine", "blocked", "--grad-out", "g.npy"});
  EXPECT_NEAR(dense["loss"].get<double>(), expected, 1e-9);
  EXPECT_EQ(dense["engine"], "dense");
  EXPECT_NEAR(blocked["loss"].get<double>(), expected, 1e-9);
  EXPECT_EQ(blocked["engine"], "blocked");
  EXPECT_THAT(read_npy("g.npy").shape, ElementsAre(4, 2));
  EXPECT_TRUE(with_ids("supcon", {"--labels", "y.npy", "--key-labels", "y.npy"})["loss"].is_number());
}

TEST_F(LossCli, FairKlNamesItsModeAndTakesFeaturesInPlaceOfBiasLabels) {
  write("g.npy", {1, 0, 0, 1, 1, 0, 0, 1}, {4, 2});
  const auto value = [](const Words& more) { return found("fairkl", with({"--labels", "y.npy"}, more)); };
  const Json values = value({"--bias", "b.npy"}), features = value({"--weights", "g.npy"});
  EXPECT_EQ(values["mode"], "authors");
  EXPECT_EQ(features["mode"], "authors");
  EXPECT_NEAR(features["loss"].get<double>(), values["loss"].get<double>(), 1e-12);
  EXPECT_EQ(value({"--bias", "b.npy", "--set", "pooling=anchor"})["mode"], "mean");
  EXPECT_EQ(value({"--bias", "b.npy", "--variant", "paper"})["mode"], "kl");
  EXPECT_THAT(loss("fairkl", {"--labels", "y.npy", "--bias", "b.npy"}).out, HasSubstr("fairkl (mode authors, "));
}

TEST_F(LossCli, PerAnchorLossesAverageToTheLossAndAreNanWhereDropped) {
  const Json out = found("unbiased", {"--labels", "y.npy", "--per-anchor-out", "a.npy", "--set", "base_temperature=0.25"});
  const auto losses = doubles("a.npy");
  ASSERT_EQ(losses.size(), 8u);
  double sum = 0;
  for (double value : losses) sum += value;
  EXPECT_NEAR(sum / 8, out["loss"].get<double>(), 1e-12);
  EXPECT_NEAR(out["loss"].get<double>(), 2 * 0.466996736, 2e-9);
  write_integers("alike.npy", {0, 0, 0, 0});
  const Json none = found("unbiased", {"--labels", "alike.npy", "--per-anchor-out", "a.npy"});
  EXPECT_EQ(none["anchors_used"], 0);
  EXPECT_EQ(none["loss"], 0.0);
  for (double value : doubles("a.npy")) EXPECT_TRUE(std::isnan(value));
}

TEST_F(LossCli, TheFilesPrecisionIsThatOfTheSumsUnlessAnotherIsAsked) {
  const double exact = 0.756893864;
  const Json single = found("infonce", {"--precision", "fp32", "--grad-out", "g.npy"}), half = found("infonce", {"--precision", "bf16"});
  EXPECT_NEAR(single["loss"].get<double>(), exact, 1e-6);
  EXPECT_EQ(single["precision"], "fp32");
  EXPECT_EQ(read_npy("g.npy").dtype, DType::kFloat32);
  EXPECT_THAT(read_npy("g.npy").shape, ElementsAre(4, 2, 2));
  EXPECT_NEAR(half["loss"].get<double>(), exact, 2e-2);
  EXPECT_NE(half["loss"], single["loss"]);
  const auto rows = rows_at_angles(2);
  const std::vector<float> floats(rows.begin(), rows.end());
  write_npy("f.npy", DType::kFloat32, {4, 2, 2}, floats.data());
  EXPECT_EQ(found("infonce", {}, "f.npy")["precision"], "fp32");
  EXPECT_EQ(found("infonce", {"--precision", "fp64"}, "f.npy")["precision"], "fp64");
}

TEST_F(LossCli, RowsAreNormalisedUnlessTheyAreTakenAsTheyAre) {
  std::vector<double> scaled = rows_at_angles(2);
  for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= static_cast<double>(1 + i / 2);  // row r has norm r + 1
  write("scaled.npy", scaled, {4, 2, 2});
  EXPECT_NEAR(found("infonce", {}, "scaled.npy")["loss"].get<double>(), 0.756893864, 1e-9);
  EXPECT_GT(std::abs(found("infonce", {"--normalize", "false"}, "scaled.npy")["loss"].get<double>() - 0.756893864), 0.1);
}

TEST_F(LossCli, AMemoryBudgetThatTheDenseFormExceedsIsSaid) {
  EXPECT_EQ(loss("infonce", {"--memory-budget", "256MB"}).err, "");
  const ProcessResult result = loss("infonce", {"--memory-budget", "64B"});
  EXPECT_EQ(result.exit, 0);
  EXPECT_THAT(result.err, HasSubstr("--memory-budget"));
}

}  // namespace debias::loss_cli_test
