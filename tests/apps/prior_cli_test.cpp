// `debias prior` as a process, on vectors and on a run.
#include "tests/apps/command.h"

namespace debias::prior_cli_test {

using PriorVerb = InFolder;

// Views of each of 200 samples of four classes: the class's own axis with noise by a fixed wave.
void write_views(const std::string& path) {
  std::vector<float> z(200 * 2 * 4);
  for (size_t i = 0; i < z.size(); ++i) {
    z[i] = static_cast<float>((i % 4 == i / 8 % 4 ? 1 : 0) + 0.05 * std::sin(12.9898 * static_cast<double>(i)));
  }
  write_npy(path, DType::kFloat32, {200, 2, 4}, z.data());
}

TEST_F(PriorVerb, EmbeddingsWithViewsAndLabelsShowBothEstimates) {
  write_views("z.npy");
  std::vector<int64_t> labels(200);
  for (size_t i = 0; i < 200; ++i) labels[i] = static_cast<int64_t>(i % 4);
  write_npy("y.npy", DType::kInt64, {200}, labels.data());
  const Json both = json_of(run_debias({"prior", "--embeddings", "z.npy", "--labels", "y.npy", "--json"}));
  EXPECT_EQ(both["method"], "labels");
  EXPECT_EQ(both["assumptions"].size(), 1u);
  EXPECT_EQ(both["other"]["method"], "views");
  std::ofstream("z.csv") << "path,label\n0,a\n";  // two views of each image are no table
  EXPECT_EQ(json_of(run_debias({"prior", "--embeddings", "z.npy", "--json"})), both["other"]);
  EXPECT_THAT(done({"prior", "--embeddings", "z.npy"}).out,
              AllOf(HasSubstr("at most 0."), HasSubstr("assumes: two views of an image are as similar")));
}

TEST_F(PriorVerb, LeavesOutPairsOfOneGroup) {
  write_npy("f.npy", DType::kFloat32, {4, 2}, std::vector<float>{1, 0, 1, 0.1F, 0, 1, 0.1F, 1}.data());
  std::ofstream("f.csv") << "path,label,patient\n0,a,p\n1,a,p\n2,b,q\n3,b,r\n";
  const Json found = json_of(run_debias({"prior", "--embeddings", "f.npy", "--group", "patient", "--json"}));
  EXPECT_NEAR(found["tau_plus"].get<double>(), 1.0 / 5, 1e-12);
  EXPECT_EQ(found["groups"], 3);
  expect_complaint(run_debias({"prior", "--embeddings", "f.npy", "--group", "pateint"}), 2, "did you mean 'patient'?");
  const Json knn = json_of(run_debias({"eval", "knn", "--embeddings", "f.npy", "--group", "patient", "knn.k=1", "--json"}));
  EXPECT_EQ(knn["groups"], 3);
  EXPECT_EQ(knn["rows"], 4);
  EXPECT_EQ(knn["groups_from"], "column patient");
  EXPECT_NEAR(knn["protocols"]["knn"]["metrics"]["test.knn_acc1"].get<double>(), 0.5, 1e-12);  // rows 0 and 1 are of one patient
  EXPECT_THAT(knn["notes"].dump(), HasSubstr("knn: test: 2 of 4 rows have others of their group among the training rows (column patient)"));
}

TEST_F(PriorVerb, ReadsTheCsvNextToTheVectors) {
  write_npy("f.npy", DType::kFloat32, {6, 2}, std::vector<float>(12, 0.5F).data());
  write_npy("y.npy", DType::kInt64, {6}, std::vector<int64_t>{0, 0, 0, 0, 0, 1}.data());
  std::ofstream("f.csv") << "path,label,kind\n0,a,x\n1,a,x\n2,a,x\n3,b,y\n4,b,y\n5,b,x\n";
  const auto prior = [](const Words& more) { return json_of(run_debias(with({"prior", "--embeddings", "f.npy", "--json"}, more))); };
  const Json beside = prior({});
  EXPECT_EQ(beside["method"], "labels");
  EXPECT_NEAR(beside["tau_plus"].get<double>(), 12.0 / 30, 1e-12);
  EXPECT_EQ(prior({"--csv", "f.csv"}), beside);
  EXPECT_NEAR(prior({"--label", "kind"})["tau_plus"].get<double>(), 14.0 / 30, 1e-12);
  EXPECT_NEAR(prior({"--labels", "y.npy"})["tau_plus"].get<double>(), 20.0 / 30, 1e-12);
}

TEST_F(PriorVerb, OfARunPrintsBothEstimates) {
  const Words recipe = {"encoder={name: simple_convnet}", "objective=infonce", "train.epochs=1"};
  std::ofstream("recipe.yaml") << small_recipe(recipe);
  done({"train", "recipe.yaml", "output=run"});
  const Json found = json_of(run_debias({"prior", "run", "--images", "60", "--json"}));
  EXPECT_EQ(found["images"], 96) << "labels are read of all";
  EXPECT_EQ(found["other"]["images"], 60);
  std::ofstream("drawn.yaml") << small_recipe(with(recipe, {"sampler={name: balanced, by: class}"}));
  done({"train", "drawn.yaml", "output=drawn"});
  EXPECT_THAT(done({"prior", "drawn"}).out, HasSubstr("as the run's sampler draws them"));
}

}  // namespace debias::prior_cli_test
