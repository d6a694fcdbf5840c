// Results that cannot be written: exit 1 of every command, and one line. What becomes of messages, and of streams that are closed or that
// nobody reads: tests/faults/streams.py.
#include "tests/apps/command.h"

namespace debias::standard_streams_test {

using StandardStreams = InFolder;

ProcessResult run_full(const Words& words) { return run(with({"sh", "-c", "exec \"$0\" \"$@\" > /dev/full", kBinary}, words)); }

TEST_F(StandardStreams, LostResultsAreAFailureOfEveryVerb) {
  std::ofstream("recipe.yaml") << small_recipe(
      {"data={train: {name: glyphs, size: 16, train_count: 64}, test: {name: glyphs, size: 16, test_count: "
       "32, split: test}}",
       "objective=infonce", "evaluate={protocols: [knn], knn: {k: 7}}",
       "train={epochs: 2, batch_size: 32, device: cpu, threads: 1, log_every: 1}"});
  done({"train", "recipe.yaml", "output=whole"});
  const std::vector<float> values = {1, 0, 0.8f, 0.6f, 0, 1, 0.6f, 0.8f, -1, 0, -0.8f, 0.6f, 0, -1, 0.6f, -0.8f};
  write_npy("z.npy", DType::kFloat32, {4, 2, 2}, values.data());
  write_npy("rows.npy", DType::kFloat32, {8, 2}, values.data());
  const std::vector<int64_t> labels = {0, 0, 1, 1, 0, 0, 1, 1};
  write_npy("y.npy", DType::kInt64, {8}, labels.data());
  const std::string run = "whole";
  const std::vector<Words> commands = {
      {"--help"},
      {"--version"},
      {"train", "--help"},
      {"train", "recipe.yaml", "output=none", "--dry-run"},
      {"train", "recipe.yaml", "output=none", "--dry-run", "--json"},
      {"train", run, "--resume"},
      {"eval", "knn", run},
      {"eval", "knn", run, "--json"},
      {"embed", run, "--out", "e.npy"},
      {"embed", run, "--out", "e.npy", "--json"},
      {"export", run, "--out", "exported"},
      {"report", run},
      {"report", run, "--text"},
      {"report", run, "--json"},
      {"checkpoint", "show", run},
      {"checkpoint", "show", run, "--recipe"},
      {"checkpoint", "verify", run},
      {"loss", "--objective", "infonce", "--embeddings", "z.npy"},
      {"loss", "--objective", "infonce", "--embeddings", "z.npy", "--json"},
      {"prior", "--embeddings", "rows.npy", "--labels", "y.npy"},
      {"study", "estimators", "--embeddings", "rows.npy", "--labels", "y.npy", "--repetitions", "1", "--negatives", "4"},
      {"data", "list"},
      {"data", "list", "--json"},
      {"data", "check", "glyphs", "size=16", "train_count=20"},
      {"data", "check", "glyphs", "size=16", "train_count=20", "--json"},
      {"data", "make", "glyphs", "size=16", "train_count=20", "test_count=10", "--out", "made"},
      {"data", "export", "glyphs", "size=16", "train_count=20", "--out", "x.npy"},
      {"init", "made/conflict", "--out", "proposed.yaml", "--minutes", "1"},
      {"views", "show", "sim32", "--out", "views.png", "--rows", "1"},
      {"list", "objectives"},
      {"list", "recipes"},
      {"list", "recipes", "--json"},
  };
  for (const auto& command : commands) {
    SCOPED_TRACE(testing::PrintToString(command));
    expect_complaint(run_full(command), 1, "debias: writing to standard output failed: No space left on device; ");
  }
}

TEST_F(StandardStreams, AFailureOfAnotherKindKeepsItsCodeWhereResultsAreLostToo) {
  fs::create_directories("pictures/cat");
  std::ofstream("pictures/cat/a.png") << "no picture";
  const ProcessResult result = run_full({"data", "check", "image_folder", "--root", "pictures", "--json"});
  EXPECT_EQ(result.exit, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("writing to standard output failed"));
}

}  // namespace debias::standard_streams_test
