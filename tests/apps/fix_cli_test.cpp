// `debias fix` as a process, and what reads its folder.
#include "tests/apps/command.h"
#include "tests/fix/gaussian_table.h"

namespace debias::fix_cli_test {

class FixCommand : public InFolder {
 protected:
  FixCommand() {
    const GaussianTable table({.train = 600, .test = 300});
    fs::copy_file(table.vectors(), "z.npy");
    fs::copy_file(table.csv(), "c.csv");
  }
  static Words words(const std::string& out, const Words& more = {}) {
    return with({"fix", "--embeddings", "z.npy", "--csv", "c.csv", "--out", out}, more);
  }
  static ProcessResult eval(const std::string& protocols, const Words& more = {}) {
    return run_debias(with({"eval", protocols, "--embeddings", "z.npy", "--csv", "c.csv", "--json"}, more));
  }
  static void rewrite_csv(const std::string& from, const std::string& to) {
    std::string text = file_text("c.csv");
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    std::ofstream("c.csv") << text;
  }
};

TEST_F(FixCommand, ItsTableIsEvaluatedWithoutARun) {
  const Json some = json_of(eval("low_shot,retrieval", {"low_shot.shares=[0.1]", "low_shot.draws=2"}))["protocols"];
  EXPECT_GT(some["low_shot"]["metrics"]["test.low_shot_acc1_10pct"], 0.3);
  EXPECT_EQ(some["low_shot"]["drawn"]["10pct"], 60);
  EXPECT_GT(some["retrieval"]["metrics"]["test.retrieval_map"], 0.3);
  const Json others = json_of(eval("knn,linear,groups,geometry"))["protocols"];
  for (const char* name : {"knn", "linear_dcl", "groups", "geometry"}) EXPECT_TRUE(others.contains(name)) << name;
  EXPECT_GT(others["linear_dcl"]["metrics"]["test.linear_acc1"], 0.34);
  EXPECT_GT(others["geometry"]["metrics"]["test.bias_probe_acc1"], 0.6);
  EXPECT_NEAR(json_of(run_debias({"prior", "--embeddings", "z.npy", "--csv", "c.csv", "--json"}))["tau_plus"], 1.0 / 3, 0.01);
}

TEST_F(FixCommand, ATableOfTrainingRowsIsEvaluatedByItsOtherRows) {
  rewrite_csv(",test\n", ",train\n");
  const Json protocols = json_of(eval("knn,retrieval", {"knn.k=1"}))["protocols"];
  EXPECT_LT(protocols["knn"]["metrics"]["test.knn_acc1"], 0.999);  // 1 where each row is its own neighbour
}

TEST_F(FixCommand, WritesAFolderThatOtherCommandsKnow) {
  const Json json = json_of(run_debias(words("fixed", {"--method", "balanced", "--json"})));
  EXPECT_EQ(json["method"], "balanced");
  EXPECT_TRUE(json["changed"].get<bool>());
  for (const char* name : {"acc", "aligned_acc", "conflicting_acc", "worst_group_acc"}) {
    const double value = json["after"]["test"][name];
    EXPECT_LE(json["after"]["test"]["intervals"][name][0], value) << name;
    EXPECT_GE(json["after"]["test"]["intervals"][name][1], value) << name;
  }
  EXPECT_GT(json["after"]["test"]["conflicting_acc"], json["before"]["test"]["conflicting_acc"]);
  for (const char* name : {"layer.safetensors", "head.safetensors", "fixed.onnx", "predictions.csv", "fix.log", "evaluation/groups.json",
                           "evaluation/geometry.json", "evaluation/groups-before.json", "classes.json"}) {
    EXPECT_TRUE(fs::exists("fixed/" + std::string(name))) << name;
  }
  EXPECT_THAT(file_text("fixed/predictions.csv"), StartsWith("path,label,bias,split,before,after\nr0,c0,b"));
  EXPECT_THAT(file_text("fixed/fix.log"), HasSubstr("taken (asked for): balanced"));

  const ProcessResult report = done({"report", "fixed", "--json"});
  EXPECT_THAT(report.out, HasSubstr("conflicting_acc"));
  EXPECT_THAT(run_debias({"report", "fixed", "--text", "-v"}).out, HasSubstr("fixed: fix-balanced, seed 1, corrected features\n"));
  const Json groups = json_of(run_debias({"eval", "groups", "fixed", "--json"}))["protocols"]["groups"];
  EXPECT_NEAR(groups["metrics"]["test.conflicting_acc"], json["after"]["test"]["conflicting_acc"], 1e-9);
}

TEST_F(FixCommand, TwoFoldersOfOneTableAreCompared) {
  done(words("fixed", {"--method", "balanced"}));
  done(words("plain", {"--method", "erm"}));
  const ProcessResult report = done({"report", "fixed", "plain", "--text"});
  EXPECT_THAT(report.out, Not(HasSubstr("cannot be compared")));
  done({"table", "fixed", "plain", "--metric", "test.conflicting_acc"});
  rewrite_csv(",c0,b1,test", ",c0,b2,test");  // other test rows
  done(words("other", {"--method", "erm"}));
  EXPECT_THAT(run_debias({"report", "fixed", "other", "--text"}).out, HasSubstr("cannot be compared"));
}

TEST_F(FixCommand, EvalGroupsTheRowsOfAFolderAsFixDid) {
  std::string csv = "path,label,bias,camera,split\n", line;
  std::istringstream given(file_text("c.csv"));
  std::getline(given, line);
  for (int64_t i = 0; std::getline(given, line); ++i) {
    const size_t split = line.rfind(',');
    csv += line.substr(0, split) + (i * 7919 % 13 < 7 ? ",left" : ",right") + line.substr(split) + "\n";
  }
  std::ofstream("c.csv") << csv;
  const Json fixed = json_of(run_debias(words("fixed", {"--bias", "bias,camera", "--method", "balanced", "--json"})))["after"]["test"];
  const Json metrics = json_of(run_debias({"eval", "groups", "fixed", "--json"}))["protocols"]["groups"]["metrics"];
  for (const char* name : {"conflicting_acc", "worst_group_acc"}) EXPECT_EQ(metrics["test." + std::string(name)], fixed[name]) << name;
}

TEST_F(FixCommand, EvalRejectsATableThatHasChangedSince) {
  done(words("fixed", {"--method", "balanced"}));
  const auto eval = [&](const Words& more = {}) { return run_debias(with({"eval", "groups", "fixed"}, more)); };
  const std::string rows = file_text("c.csv");
  rewrite_csv(",c1,b1,test", ",c2,b1,test");
  expect_refused(eval(), 3,
                 "c.csv: names, labels, splits or bias labels have changed since debias fix wrote 'fixed'; restore it, run debias fix "
                 "again, or continue with --accept-data-change\n");
  std::ofstream("c.csv") << rows;
  ASSERT_EQ(eval().exit, 0);
  NpyArray vectors = read_npy("z.npy");
  std::vector<float> moved(vectors.as<float>().begin(), vectors.as<float>().end());
  for (size_t i = 0; i < moved.size(); i += 24) moved[i] += 5;
  write_npy("z.npy", DType::kFloat32, vectors.shape, moved.data());
  expect_refused(eval(), 3, "z.npy: the vectors have changed since debias fix wrote");
  const ProcessResult accepted = eval({"--accept-data-change"});
  EXPECT_EQ(accepted.exit, 0) << accepted.err;
  EXPECT_THAT(accepted.err, HasSubstr("the vectors have changed since debias fix wrote 'fixed', which is accepted\n"));
}

TEST_F(FixCommand, AppliesTheLayerToOtherVectors) {
  done(words("fixed", {"--method", "erase"}));
  const Words apply = {"fix", "--apply", "fixed", "--embeddings", "z.npy", "--out", "corrected.npy"};
  done(apply);
  const NpyArray before = read_npy("z.npy"), after = read_npy("corrected.npy");
  EXPECT_EQ(after.shape, before.shape);
  EXPECT_NE(after.bytes, before.bytes);
  // Correcting what is corrected changes nothing: the layer is a projection.
  done({"fix", "--apply", "fixed", "--embeddings", "corrected.npy", "--out", "twice.npy"});
  const NpyArray twice = read_npy("twice.npy");
  for (size_t i = 0; i < after.as<float>().size(); ++i) ASSERT_NEAR(twice.as<float>()[i], after.as<float>()[i], 1e-3) << i;
}

TEST_F(FixCommand, ReplacesCorrectedVectors) {
  done(words("fixed", {"--method", "erase"}));
  const std::string before = file_text("z.npy"), other = "other.npy";
  fs::copy_file("z.npy", other);
  const auto apply = [&](const std::string& out) { return run_debias({"fix", "--apply", "fixed", "--embeddings", other, "--out", out}); };
  std::ofstream("corrected.npy") << "of an earlier call";
  ASSERT_EQ(apply("corrected.npy").exit, 0);
  EXPECT_EQ(read_npy("corrected.npy").shape, read_npy(other).shape);
}

TEST_F(FixCommand, FailIfEndsWithOneAndKeepsTheFolder) {
  const Words balanced = {"--method", "balanced", "--fail-if"};
  done(words("good", with(balanced, {"test.acc1<0.01"})));
  const ProcessResult bad = run_debias(words("bad", with(balanced, {"worst_group_acc<1.1"})));
  EXPECT_EQ(bad.exit, 1);
  EXPECT_THAT(bad.err, HasSubstr("worst_group_acc is 0."));
  EXPECT_TRUE(fs::exists("bad/fix.json"));
}

}  // namespace debias::fix_cli_test
