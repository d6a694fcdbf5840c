// `debias fix` as a process, and what reads its folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "debias/core/npy.h"
#include "tests/apps/expect_complaint.h"
#include "tests/fix/gaussian_table.h"

namespace debias {
namespace fix_cli_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

class FixCommand : public testing::Test {
 protected:
  std::vector<std::string> words(const std::string& out, const std::vector<std::string>& more = {}) const {
    return with({"fix", "--embeddings", table_.vectors(), "--csv", table_.csv(), "--out", table_.folder() / out}, more);
  }
  std::string path(const std::string& name) const { return table_.folder() / name; }
  void rewrite_csv(const std::string& from, const std::string& to) const {
    std::string text = file_text(table_.csv());
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    std::ofstream(table_.csv()) << text;
  }
  GaussianTable table_{{.train = 600, .test = 300}};
};

TEST_F(FixCommand, ItsTableIsEvaluatedWithFewLabelsAndByRetrieval) {
  const ProcessResult result = run_debias({"eval", "low_shot,retrieval", "--embeddings", table_.vectors(), "--csv", table_.csv(),
                                           "low_shot.shares=[0.1]", "low_shot.draws=2", "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const Json protocols = Json::parse(result.out)["protocols"];
  EXPECT_GT(protocols["low_shot"]["metrics"]["test.low_shot_acc1_10pct"], 0.3);
  EXPECT_EQ(protocols["low_shot"]["drawn"]["10pct"], 60);
  EXPECT_GT(protocols["retrieval"]["metrics"]["test.retrieval_map"], 0.3);
  rewrite_csv(",test", ",train");
  rewrite_csv(",valid", ",train");
  expect_refused(run_debias({"eval", "low_shot", "--embeddings", table_.vectors(), "--csv", table_.csv()}), 2, "fits a classifier");
  EXPECT_EQ(run_debias({"eval", "retrieval", "--embeddings", table_.vectors(), "--csv", table_.csv()}).exit, 0);
}

TEST_F(FixCommand, WritesAFolderThatOtherCommandsKnow) {
  const ProcessResult result = run_debias(words("fixed", {"--method", "balanced", "--json"}));
  ASSERT_EQ(result.exit, 0) << result.err;
  const Json json = Json::parse(result.out);
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
    EXPECT_TRUE(fs::exists(path("fixed/" + std::string(name)))) << name;
  }
  EXPECT_THAT(file_text(path("fixed/predictions.csv")), testing::StartsWith("path,label,bias,split,before,after\nr0,c0,b"));
  EXPECT_THAT(file_text(path("fixed/fix.log")), HasSubstr("taken (asked for): balanced"));

  const ProcessResult report = run_debias({"report", path("fixed"), "--json"});
  ASSERT_EQ(report.exit, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("conflicting_acc"));
  EXPECT_THAT(run_debias({"report", path("fixed"), "--text"}).out,
              HasSubstr(path("fixed") + ": fix-balanced, seed 1, corrected features\n"));
  const ProcessResult evaluated = run_debias({"eval", "groups", path("fixed"), "--json"});
  ASSERT_EQ(evaluated.exit, 0) << evaluated.err;
  const Json groups = Json::parse(evaluated.out)["protocols"]["groups"];
  EXPECT_NEAR(groups["metrics"]["test.conflicting_acc"], json["after"]["test"]["conflicting_acc"], 1e-9);
}

TEST_F(FixCommand, TwoFoldersOfOneTableAreCompared) {
  ASSERT_EQ(run_debias(words("fixed", {"--method", "balanced"})).exit, 0);
  ASSERT_EQ(run_debias(words("plain", {"--method", "erm"})).exit, 0);
  const ProcessResult report = run_debias({"report", path("fixed"), path("plain"), "--text"});
  ASSERT_EQ(report.exit, 0) << report.err;
  EXPECT_THAT(report.out, testing::Not(HasSubstr("cannot be compared")));
  const ProcessResult table = run_debias({"table", path("fixed"), path("plain"), "--metric", "test.conflicting_acc"});
  EXPECT_EQ(table.exit, 0) << table.err;
  rewrite_csv(",c0,b1,test", ",c0,b2,test");  // other test rows
  ASSERT_EQ(run_debias(words("other", {"--method", "erm"})).exit, 0);
  EXPECT_THAT(run_debias({"report", path("fixed"), path("other"), "--text"}).out, HasSubstr("cannot be compared"));
}

TEST_F(FixCommand, EvalGroupsTheRowsOfAFolderAsFixDid) {
  std::string csv = "path,label,bias,camera,split\n", line;
  std::istringstream given(file_text(table_.csv()));
  std::getline(given, line);
  for (int64_t i = 0; std::getline(given, line); ++i) {
    const size_t split = line.rfind(',');
    csv += line.substr(0, split) + (i * 7919 % 13 < 7 ? ",left" : ",right") + line.substr(split) + "\n";
  }
  std::ofstream(table_.csv()) << csv;
  const ProcessResult result = run_debias(words("fixed", {"--bias", "bias,camera", "--method", "balanced", "--json"}));
  ASSERT_EQ(result.exit, 0) << result.err;
  const Json fixed = Json::parse(result.out)["after"]["test"];
  const ProcessResult evaluated = run_debias({"eval", "groups", path("fixed"), "--json"});
  ASSERT_EQ(evaluated.exit, 0) << evaluated.err;
  const Json metrics = Json::parse(evaluated.out)["protocols"]["groups"]["metrics"];
  for (const char* name : {"conflicting_acc", "worst_group_acc"}) EXPECT_EQ(metrics["test." + std::string(name)], fixed[name]) << name;
}

TEST_F(FixCommand, EvalRejectsATableThatHasChangedSince) {
  ASSERT_EQ(run_debias(words("fixed", {"--method", "balanced"})).exit, 0);
  const auto eval = [&](const std::vector<std::string>& more = {}) { return run_debias(with({"eval", "groups", path("fixed")}, more)); };
  const std::string rows = file_text(table_.csv());
  rewrite_csv(",c1,b1,test", ",c2,b1,test");
  expect_refused(eval(), 3,
                 table_.csv() + ": names, labels, splits or bias labels have changed since debias fix wrote '" + path("fixed") +
                     "'; restore it, run debias fix again, or continue with --accept-data-change\n");
  std::ofstream(table_.csv()) << rows;
  ASSERT_EQ(eval().exit, 0);
  NpyArray vectors = read_npy(table_.vectors());
  std::vector<float> moved(vectors.as<float>().begin(), vectors.as<float>().end());
  for (size_t i = 0; i < moved.size(); i += 24) moved[i] += 5;
  write_npy(table_.vectors(), DType::kFloat32, vectors.shape, moved.data());
  expect_refused(eval(), 3, table_.vectors() + ": the vectors have changed since debias fix wrote");
  const ProcessResult accepted = eval({"--accept-data-change"});
  EXPECT_EQ(accepted.exit, 0) << accepted.err;
  EXPECT_THAT(accepted.err, HasSubstr("the vectors have changed since debias fix wrote '" + path("fixed") + "', which is accepted\n"));
}

TEST_F(FixCommand, AppliesTheLayerToOtherVectors) {
  ASSERT_EQ(run_debias(words("fixed", {"--method", "erase"})).exit, 0);
  const std::vector<std::string> apply = {
      "fix", "--apply", path("fixed"), "--embeddings", table_.vectors(), "--out", path("corrected.npy")};
  const ProcessResult result = run_debias(apply);
  ASSERT_EQ(result.exit, 0) << result.err;
  const NpyArray before = read_npy(table_.vectors()), after = read_npy(path("corrected.npy"));
  EXPECT_EQ(after.shape, before.shape);
  EXPECT_NE(after.bytes, before.bytes);
  // Correcting what is corrected changes nothing: the layer is a projection.
  ASSERT_EQ(run_debias({"fix", "--apply", path("fixed"), "--embeddings", path("corrected.npy"), "--out", path("twice.npy")}).exit, 0);
  const NpyArray twice = read_npy(path("twice.npy"));
  for (size_t i = 0; i < after.as<float>().size(); ++i) ASSERT_NEAR(twice.as<float>()[i], after.as<float>()[i], 1e-3) << i;
  const std::vector<float> narrow(20, 1.0f);
  write_npy(path("narrow.npy"), DType::kFloat32, {4, 5}, narrow.data());
  expect_refused(run_debias({"fix", "--apply", path("fixed"), "--embeddings", path("narrow.npy"), "--out", path("x.npy")}), 3,
                 "5 dimensions for a layer of 24");
  EXPECT_FALSE(fs::exists(path("x.npy")));
}

// As embed does: what is there is replaced as a whole, unless the folder or the call reads it.
TEST_F(FixCommand, ReplacesCorrectedVectorsButNotItsInputs) {
  ASSERT_EQ(run_debias(words("fixed", {"--method", "erase"})).exit, 0);
  const std::string before = file_text(table_.vectors()), other = path("other.npy");
  fs::copy_file(table_.vectors(), other);
  const auto apply = [&](const std::string& out) {
    return run_debias({"fix", "--apply", path("fixed"), "--embeddings", other, "--out", out});
  };
  std::ofstream(path("corrected.npy")) << "of an earlier call";
  ASSERT_EQ(apply(path("corrected.npy")).exit, 0);
  EXPECT_EQ(read_npy(path("corrected.npy")).shape, read_npy(other).shape);
  fs::create_hard_link(path("fixed/layer.safetensors"), path("layer.npy"));
  for (const std::string& out : {other, table_.vectors(), path("layer.npy")}) {
    expect_refused(apply(out), 2, "'" + out + "' would be written over its own input");
  }
  EXPECT_TRUE(file_text(table_.vectors()) == before && file_text(other) == before);
}

TEST_F(FixCommand, LeavesNothingBehindWhereItFails) {
  expect_refused(run_debias(words("fixed", {"--bias", "colour"})), 2, "no column 'colour'");
  expect_refused(run_debias(words("fixed", {"--method", "balance"})), 2, "did you mean 'balanced'");
  expect_refused(run_debias(words("fixed", {"--keep", "1.5"})), 2, "keep");
  expect_refused(run_debias({"fix", "--out", path("fixed")}), 2, "exactly one of RUN or --embeddings");
  expect_refused(run_debias({"fix", "--embeddings", path("absent.npy"), "--csv", table_.csv(), "--out", path("fixed")}), 3, "absent.npy");
  rewrite_csv(",train\n", ",trian\n");
  expect_refused(run_debias(words("fixed")), 3, "did you mean 'train'");
  EXPECT_FALSE(fs::exists(path("fixed")));
  for (const auto& entry : fs::directory_iterator(table_.folder().path())) {
    EXPECT_EQ(entry.path().filename().string().find("fixed"), std::string::npos) << entry.path();
  }
}

TEST_F(FixCommand, FailIfEndsWithOneAndKeepsTheFolder) {
  const std::vector<std::string> balanced = {"--method", "balanced", "--fail-if"};
  EXPECT_EQ(run_debias(words("good", with(balanced, {"test.acc1<0.01"}))).exit, 0);
  expect_refused(run_debias(words("unknown", with(balanced, {"test.worst_group<0.5"}))), 2, "did you mean 'test.worst_group_acc'");
  EXPECT_FALSE(fs::exists(path("unknown")));
  const ProcessResult bad = run_debias(words("bad", with(balanced, {"worst_group_acc<1.1"})));
  EXPECT_EQ(bad.exit, 1);
  EXPECT_THAT(bad.err, HasSubstr("worst_group_acc is 0."));
  EXPECT_TRUE(fs::exists(path("bad/fix.json")));
  expect_refused(run_debias(words("never", {"--fail-if", "test.acc1"})), 2, "expected METRIC");
  expect_refused(run_debias(words("never", {"--fail-if", ""})), 2, "--fail-if '': expected METRIC");  // of an unset variable
  expect_refused(
      run_debias({"fix", "--apply", path("good"), "--embeddings", table_.vectors(), "--out", path("z.npy"), "--fail-if", "acc1<1"}), 2,
      "computes no metrics");
  expect_refused(run_debias({"fix", "--apply", path("good"), "--embeddings", table_.vectors(), "--out", path("z.npy"), "--method", "erase",
                             "--keep", "0.5", "--bias", "nope"}),
                 2, "fix: --apply fits nothing and reads vectors alone; leave out --bias, --method, --keep\n");
}

TEST_F(FixCommand, AMissingFolderIsReportedBeforeTheWork) {
  ASSERT_EQ(run_debias(words("fixed", {"--method", "erm"})).exit, 0);
  expect_refused(run_debias({"fix", "--apply", path("fixed"), "--embeddings", table_.vectors(), "--out", path("none/z.npy")}), 5, "none");
}

TEST_F(FixCommand, RowsThatAreEqualAreRefused) {
  const NpyArray given = read_npy(table_.vectors());
  const std::vector<float> zeros(given.as<float>().size());
  write_npy(table_.vectors(), DType::kFloat32, given.shape, zeros.data());
  expect_refused(run_debias(words("fixed")), 3, "are equal; check the encoder");
  EXPECT_FALSE(fs::exists(path("fixed")));
}

TEST_F(FixCommand, AFolderThatExistsIsRefused) {
  fs::create_directory(path("fixed"));
  const ProcessResult result = run_debias(words("fixed"));
  EXPECT_EQ(result.exit, 2) << result.err;
}

TEST_F(FixCommand, WithoutBiasLabelsAuditIsNamed) {
  rewrite_csv("path,label,bias,split", "path,label,x,split");
  expect_refused(run_debias(words("fixed")), 2, "debias audit --embeddings");
}

TEST_F(FixCommand, TablesAreEvaluatedWithoutARun) {
  const std::vector<std::string> words = {"--embeddings", table_.vectors(), "--csv", table_.csv(), "--json"};
  const ProcessResult result = run_debias(with({"eval", "knn,linear,groups,geometry"}, words));
  ASSERT_EQ(result.exit, 0) << result.err;
  const Json protocols = Json::parse(result.out)["protocols"];
  for (const char* name : {"knn", "linear_dcl", "groups", "geometry"}) EXPECT_TRUE(protocols.contains(name)) << name;
  EXPECT_GT(protocols["linear_dcl"]["metrics"]["test.linear_acc1"], 0.34);
  EXPECT_GT(protocols["geometry"]["metrics"]["test.bias_probe_acc1"], 0.6);
  const ProcessResult prior = run_debias(with({"prior"}, words));
  ASSERT_EQ(prior.exit, 0) << prior.err;
  EXPECT_NEAR(Json::parse(prior.out)["tau_plus"], 1.0 / 3, 0.01);
  expect_refused(run_debias(with({"eval", "knn", path("run")}, words)), 2, "exactly one of RUN");
  expect_refused(run_debias(with({"eval", "linear", "views=train"}, words)), 2, "needs images");
}

TEST_F(FixCommand, ATableOfTrainingRowsIsEvaluatedByItsOtherRows) {
  rewrite_csv(",test\n", ",train\n");
  const std::vector<std::string> words = {"--embeddings", table_.vectors(), "--csv", table_.csv(), "--json"};
  const ProcessResult result = run_debias(with({"eval", "knn", "k=1"}, words));
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_LT(Json::parse(result.out)["protocols"]["knn"]["metrics"]["test.knn_acc1"], 0.999);  // 1 where each row is its own neighbour
  expect_refused(run_debias(with({"eval", "linear"}, words)), 2, "column split");
}

}  // namespace fix_cli_test
}  // namespace debias
