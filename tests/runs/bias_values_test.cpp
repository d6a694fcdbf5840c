// Pseudo bias labels of a run that was trained without any, and bias labels added to its evaluation.
#include "debias/runs/bias_values.h"

#include "debias/core/sha256.h"
#include "debias/data/builders/data_make.h"
#include "debias/runs/pair_source.h"
#include "debias/runs/run_embedding.h"
#include "debias/runs/run_evaluation.h"
#include "tests/runs/trained_run.h"

namespace debias::bias_values_test {

struct Row {
  std::string path, label, bias, rest;
};

std::vector<Row> rows_of(const std::string& csv) {
  std::istringstream text(file_text(csv));
  std::vector<Row> rows;
  std::string line;
  std::getline(text, line);
  while (std::getline(text, line)) {
    std::istringstream fields(line);
    Row& row = rows.emplace_back();
    std::getline(fields, row.path, ',');
    std::getline(fields, row.label, ',');
    std::getline(fields, row.bias, ',');
    std::getline(fields, row.rest);
  }
  return rows;
}

// Glyphs in class folders, whose background goes with the class. `colours.csv` knows the colours; the run, which sees single pixels, has not
// read them.
class UnknownBias : public SharedFolder<UnknownBias> {
 protected:
  static void SetUpTestSuite() {
    make_data_folder(parse_yaml("{name: glyphs, classes: 4, size: 16, correlation: 0.9, train_count: 120, test_count: 4}", "glyphs"),
                     path("made"), Progress::silent());
    const std::vector<std::string> classes = {"ape", "bee", "cat", "dog"}, colours = {"white", "red", "green", "blue"};
    std::ofstream csv(path("colours.csv"));
    csv << "path,bias\n";
    for (const char* part : {"align", "conflict"}) {
      for (const auto& file : fs::recursive_directory_iterator(path("made/") + part)) {
        if (file.path().extension() != ".png") continue;
        int id = 0, number = 0, colour = 0;  // 17_3_0.png
        ASSERT_EQ(std::sscanf(file.path().filename().c_str(), "%d_%d_%d", &id, &number, &colour), 3);
        const std::string name = classes.at(static_cast<size_t>(number)) + "/" + std::to_string(id) + ".png";
        fs::create_directories(fs::path(path("photos/" + name)).parent_path());
        fs::copy_file(file.path(), path("photos/" + name));
        csv << name << "," << (colour < 4 ? colours[static_cast<size_t>(colour)] : "other") << "\n";
      }
    }
    csv.close();
    KeptLog log;
    train_into(path("run"), recipe(), {}, log);
    log_ = log.text;
  }
  static std::string recipe() {
    return small_recipe(
        {"seed=1", "data={train: {name: image_folder, root: " + path("photos") + ", hold_out: 30}, test: {split: held_out}}",
         "views={preset: none, count: 1}", "encoder={name: simple_convnet, kernel: 1, stem_stride: 2, stride: 2}", "head={name: none}",
         "objective=generalized_cross_entropy", "classifier={name: linear, gradient: flow, normalize: false}",
         "optimizer={name: adam, learning_rate: 3e-3}", "schedule=constant", "train={epochs: 12, batch_size: 15, device: cpu, threads: 1}",
         "evaluate={every: 12, protocols: [groups]}"});
  }
  static BiasValueTable values(BiasValueRequest request) {
    request.run = path("run");
    return write_bias_values(request, Progress::silent(), Log::silent());
  }
  static RunEvaluation groups(const std::string& labels, const std::string& column, Log& log = Log::silent()) {
    EvaluationRequest request{.run = path("run")};
    request.protocols.push_back({"groups", Config::map()});
    if (!labels.empty()) request.labels = LabelColumns{.file = labels};
    if (!column.empty()) request.labels->bias = column;
    return evaluate_run(request, Progress::silent(), log);
  }

  static std::string log_;
};
std::string UnknownBias::log_;

TEST_F(UnknownBias, GroupsOfANamedColumnAreEmbeddedAndSearched) {
  std::ofstream csv(path("both.csv"));
  csv << "path,bias,burst\n";
  int place = 0;
  for (const Row& row : rows_of(path("colours.csv"))) csv << row.path << "," << row.label << ",burst" << place++ / 4 << "\n";
  csv.close();
  EmbeddingRequest request;
  request.run = path("run");
  request.out = path("grouped.npy");
  request.data.words = {"labels=" + path("both.csv")};
  request.groups = "burst";
  const RunEmbedding made = embed_run(request, Progress::silent(), Log::silent());
  EXPECT_THAT(file_text(path("grouped.names.csv")), HasSubstr("burst1"));
  EXPECT_EQ(made.rows, 30);
  RunToEmbed run;
  run.path = path("run");
  run.groups = "burst";
  EXPECT_THAT(usage_error_of([&] { pairs_of_run(run, {}, Progress::silent(), Log::silent()); }),
              HasSubstr("--group burst: data.train has no CSV of labels whose columns it could name"));
}

TEST_F(UnknownBias, GroupsOfACsvAreTakenInEvaluation) {
  std::ofstream csv(path("bursts.csv"));
  csv << "path,burst\n";
  std::map<std::string, int> places;
  for (const Row& row : rows_of(path("colours.csv")))
    csv << row.path << "," << row.path.substr(0, 3) << places[row.path.substr(0, 3)]++ / 4 << "\n";
  csv.close();
  EvaluationRequest request{.run = path("run")};
  request.protocols.push_back({"knn", Config::map()});
  request.labels = LabelColumns{.file = path("bursts.csv")};
  request.groups = "burst";
  const RunEvaluation found = evaluate_run(request, Progress::silent(), Log::silent());
  EXPECT_EQ(found.groups.rows, 30);
  EXPECT_LT(found.groups.groups, 30);
  EXPECT_EQ(found.groups.from, "column burst");
  EXPECT_THAT(found.results[0].second.notes,
              testing::Contains(HasSubstr("of their group among the training images (column burst), which do not vote")));
  request.labels.reset();
  EXPECT_THAT(usage_error_of([&] { evaluate_run(request, Progress::silent(), Log::silent()); }),
              HasSubstr("--group burst: data.train has no CSV of labels whose columns it could name"));
}

TEST_F(UnknownBias, IsReportedBeforeTrainingWhichGoesOn) {
  EXPECT_THAT(log_, HasSubstr("this run is not evaluated by groups: split 'held_out' of image_folder has no bias labels"));
  EXPECT_TRUE(epochs_of(path("run")).back().contains("test.acc1"));
  for (const std::string word : {"evaluate.on_error=stop", "evaluate={protocols: [groups], select: valid.worst_group_acc}"}) {
    std::vector<std::string> words = {word};
    if (word.find("select") != std::string::npos) words.push_back("data.valid={split: held_out}");
    EXPECT_THAT(usage_error_of([&] { train_into(path("none"), recipe(), words); }), HasSubstr("has no bias labels"));
    EXPECT_FALSE(fs::exists(path("none")));
  }
}

TEST_F(UnknownBias, IsFoundAsPseudoValuesThatAreTheColours) {
  const BiasValueTable table = values({.run = "", .out = path("found.csv")});
  const std::vector<Row> found = rows_of(path("found.csv"));
  std::map<std::string, std::string> colour;
  for (const Row& row : rows_of(path("colours.csv"))) colour[row.path] = row.label;  // its second column
  EXPECT_EQ(table.rows, std::ssize(colour));                                         // those held out, too
  ASSERT_EQ(found.size(), colour.size());
  EXPECT_EQ(table.names.size(), 4u);
  EXPECT_GT(table.aligned, 0.7);
  EXPECT_EQ(table.folder, path("photos"));
  std::map<std::string, std::map<std::string, int>> counts;
  for (const Row& row : found) {
    ++counts[row.bias][colour.at(row.path)];
    EXPECT_THAT(row.bias, StartsWith("like_"));
    EXPECT_EQ(row.label, row.path.substr(0, row.path.find('/')));
    const double confidence = std::stod(row.rest);
    EXPECT_TRUE(confidence >= 0 && confidence <= 1) << row.rest;
  }
  int right = 0;
  for (const auto& [value, colours] : counts) {
    right += std::max_element(colours.begin(), colours.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->second;
  }
  EXPECT_GT(right, 0.7 * static_cast<double>(found.size()));  // by chance a third
}

TEST_F(UnknownBias, HasAsManyPseudoValuesAsAreRequested) {
  const BiasValueTable table = values({.run = "", .out = path("two.csv"), .values = 2});
  ASSERT_EQ(table.images.size(), 2u);
  EXPECT_EQ(table.images[0] + table.images[1], table.rows - 30);
  EXPECT_THAT(usage_error_of([] { values({.run = "", .out = path("no.csv"), .values = 0}); }), HasSubstr("give a number from 1 to"));
  EXPECT_THAT(usage_error_of([] { values({.run = "", .out = path("no.npy")}); }), HasSubstr("ends in .csv"));
  EXPECT_THAT(usage_error_of([] { values({.run = "", .out = path("photos/no.csv")}); }), HasSubstr("is inside the data folder"));
  EXPECT_FALSE(fs::exists(path("no.csv")));
}

TEST_F(UnknownBias, CanBeAddedToAnEvaluation) {
  EXPECT_THAT(usage_error_of([] { groups("", ""); }), HasSubstr("has no bias labels"));
  const RunEvaluation found = groups(path("colours.csv"), "");
  EXPECT_TRUE(found.results[0].second.metrics.contains("test.conflicting_acc"));
  const auto json = json_in(path("run/evaluation/groups.json"));
  EXPECT_EQ(json["bias_values"]["file"], path("colours.csv"));
  EXPECT_EQ(json["bias_values"]["column"], "bias");
  EXPECT_EQ(json["bias_values"]["unknown"], nlohmann::json::parse(R"({"train": 0, "test": 0})"));
  const std::string text = file_text(path("colours.csv"));
  Sha256 digest;
  digest.update(text.data(), text.size());
  EXPECT_EQ(json["bias_values"]["sha256"], digest.hex());
  EXPECT_EQ(json["aligned_by"], "majority");
}

TEST_F(UnknownBias, IsCountedWhereRowsAreMissing) {
  std::istringstream text(file_text(path("colours.csv")));
  std::ofstream csv(path("some.csv"));
  int lines = 0, missing = 0;
  for (std::string line; std::getline(text, line); ++lines) {
    if (lines == 0) line = "path,colour";
    if (lines % 10 == 5) {
      ++missing;
    } else {
      csv << line << "\n";
    }
  }
  csv.close();
  EXPECT_THAT(data_error_of([] { groups(path("some.csv"), ""); }), HasSubstr("labels.bias=COLUMN"));
  KeptLog log;
  groups(path("some.csv"), "colour", log);
  EXPECT_THAT(log.text, HasSubstr("images have no bias label in " + path("some.csv")));
  const auto unknown = json_in(path("run/evaluation/groups.json"))["bias_values"]["unknown"];
  EXPECT_EQ(unknown["train"].get<int>() + unknown["test"].get<int>(), missing);
}

TEST_F(UnknownBias, OfOtherImagesIsRejected) {
  std::ofstream(path("other.csv")) << "path,bias\nelsewhere.png,red\n";
  EXPECT_THAT(data_error_of([] { groups(path("other.csv"), ""); }), HasSubstr("no row gives a bias label to an image of test"));
  EXPECT_THAT(data_error_of([] { groups(path("absent.csv"), ""); }), HasSubstr("absent.csv': No such file"));
  EXPECT_THAT(data_error_of([] { groups(path("colours.csv"), "bais"); }), HasSubstr("did you mean 'bias'?"));
}

}  // namespace debias::bias_values_test
