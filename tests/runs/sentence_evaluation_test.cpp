// A run on sentences, evaluated while it trains and afterwards.
#include "debias/runs/sentence_evaluation.h"

#include "debias/results/evaluation_record.h"
#include "debias/runs/run_evaluation.h"
#include "debias/runs/text_files.h"
#include "debias/runs/training_setup.h"
#include "tests/runs/trained_run.h"
#include "tests/support/small_corpus.h"

namespace debias {
namespace sentence_evaluation_test {

class SentenceEvaluations : public testing::Test {
 protected:
  SentenceEvaluations() {
    write_small_corpus(folder_.path());
    fs::create_directories(folder_ / "sets");
    std::ofstream good(folder_ / "sets/custrev.pos"), bad(folder_ / "sets/custrev.neg");
    for (int i = 0; i < 30; ++i) {
      good << "w1 w2 " << small_word(i) << "\n";
      bad << "w9 w8 " << small_word(i) << "\n";
    }
  }

  Config recipe(const std::string& evaluate = "{every: 1}") const {
    const std::string books = small_corpus_section(folder_.path());
    Config config = parse_yaml("data: {train: " + books + ", valid: " + books + ", test: " + books +
                                   "}\nseed: 3\nmethod: quick_thoughts\nencoder: {name: bag_of_words, features: 8}\n"
                                   "objective: {name: debiased_negatives, temperature: 1, tau_plus: 0.01, clamp: positive}\n"
                                   "optimizer: {name: adam, learning_rate: 0.01}\n"
                                   "train: {epochs: 2, batch_size: 10, device: cpu, threads: 1}\nevaluate: " +
                                   evaluate + "\n",
                               "recipe.yaml");
    config.set("output", Config::string(run()));
    return config;
  }
  std::string run() const { return folder_ / "run"; }
  std::string sets() const { return folder_ / "sets"; }

  void train_by(const Config& config) {
    TrainInput input;
    input.recipe = read_recipe(config);
    DataWatch watch(input.recipe.verify, Progress::silent(), Log::silent());
    input.dataset = watch.open_samples("train", input.recipe.train_data);
    keep_vocabulary(input);
    const Config resolved = resolve_recipe(input.recipe, *input.dataset);
    if (const auto observer = make_evaluation(input.recipe, resolved, input.dataset, watch, Progress::silent(), Log::silent())) {
      input.observers = {observer};
    }
    train(input);
  }
  std::vector<Json> epoch_lines() const {
    std::ifstream file(run() + "/metrics.jsonl");
    std::vector<Json> lines;
    for (std::string line; std::getline(file, line);) {
      if (Json json = Json::parse(line); !json.contains("step")) lines.push_back(std::move(json));
    }
    return lines;
  }
  EvaluationRecord record(const std::string& name) const { return read_evaluation(run() + "/evaluation/" + name + ".json"); }

  TemporaryFolder folder_;
};

TEST_F(SentenceEvaluations, SayHowOftenNeighboursAreFoundValidFirst) {
  train_by(recipe());
  std::vector<std::string> evaluated;
  const Json line = epoch_lines().back();
  for (const auto& [name, value] : line.items()) {
    if (name.ends_with("neighbour_acc")) evaluated.push_back(name);
  }
  EXPECT_THAT(evaluated, testing::ElementsAre("valid.neighbour_acc", "test.neighbour_acc"));
  const EvaluationRecord last = record("neighbours"), first = record("neighbours-untrained");
  EXPECT_EQ(*last.metric("test.neighbour_acc"), epoch_lines().back()["test.neighbour_acc"].get<double>());
  EXPECT_EQ(last.epoch, 2);
  EXPECT_EQ(first.epoch, 0);
  EXPECT_TRUE(first.has_option("untrained", true));
  EXPECT_TRUE(fs::exists(run() + "/evaluation/epoch-1/neighbours.json"));
}

TEST_F(SentenceEvaluations, TakeTasksAmongTheProtocolsOfTraining) {
  train_by(recipe("{every: 2, protocols: [neighbours, sentences], sentences: {root: " + sets() + ", tasks: [cr], mode: cheap}}"));
  EXPECT_FALSE(epoch_lines().front().contains("cr_acc"));
  EXPECT_GT(epoch_lines().back()["cr_acc"].get<double>(), 0.9);
  EXPECT_EQ(record("sentences-cheap").tasks.at(0).name, "cr");
  EXPECT_FALSE(fs::exists(run() + "/evaluation/sentences-untrained.json"));
}

TEST_F(SentenceEvaluations, RefuseProtocolsOfImagesAndWhatCannotChooseAnEpoch) {
  const auto refusal = [&](const std::string& evaluate) { return usage_error_of([&] { train_by(recipe(evaluate)); }); };
  EXPECT_THAT(refusal("{protocols: [knn]}"), HasSubstr("protocol 'knn' is for images, and the run is on sentences"));
  EXPECT_THAT(refusal("{protocols: [sentences], sentences: {tasks: [mx]}}"), HasSubstr("unknown task 'mx'"));
  EXPECT_FALSE(fs::exists(run()));
}

TEST_F(SentenceEvaluations, OfAFinishedRunFindWhatTrainingFound) {
  train_by(recipe());
  const LoadedRun loaded = load_run(run());
  DataWatch watch(Verify::kListing, Progress::silent(), Log::silent());
  const EvaluationInput input = open_for_evaluation(loaded, data_of(read_recipe(loaded.recipe)), watch, Log::silent());
  const EvaluationResult found = EvaluationCache(input, Progress::silent()).evaluate("neighbours");
  EXPECT_EQ(found.metrics.at("test.neighbour_acc"), *record("neighbours").metric("test.neighbour_acc"));
  EXPECT_EQ(found.metrics.at("valid.neighbour_acc"), *record("neighbours").metric("valid.neighbour_acc"));
}

TEST_F(SentenceEvaluations, OfAFinishedRunReadTheirTextsAsTrainingDid) {
  Config config = recipe();
  config.find("data")->erase("test");
  config.find("data")->set("valid", parse_yaml("{name: sentences, root: " + (folder_ / "books") + "}", "recipe.yaml"));
  train_into(run(), config.to_yaml());
  const double trained = *record("neighbours").metric("valid.neighbour_acc");
  EvaluationRequest request{.run = run()};
  request.protocols.push_back({.name = "neighbours"});
  const NamedMetrics found = evaluate_run(request, Progress::silent(), Log::silent()).metrics();
  EXPECT_EQ(found, (NamedMetrics{{"valid.neighbour_acc", trained}}));
}

TEST_F(SentenceEvaluations, OfALoneCheckpointTakeTheBooksThatAreNamed) {
  train_by(recipe());
  const std::string lone = folder_ / "lone.safetensors";
  fs::copy_file(run() + "/checkpoints/last.safetensors", lone);
  EvaluationRequest request{.run = lone};
  request.protocols.push_back({.name = "neighbours"});
  const auto evaluated = [&] { return evaluate_run(request, Progress::silent(), Log::silent()).metrics(); };
  EXPECT_THAT(usage_error_of([&] { evaluated(); }), HasSubstr("give --data NAME --root DIR"));
  request.data = {"sentences", folder_ / "books", {}};
  EXPECT_EQ(evaluated(), (NamedMetrics{{"test.neighbour_acc", *record("neighbours").metric("test.neighbour_acc")}}));
}

}  // namespace sentence_evaluation_test

// Vocabularies and tables of word vectors by the library.
namespace text_files_test {

class TextFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  VocabularyRequest request() const {
    VocabularyRequest request;
    request.corpora = {written("book.txt", "the cat sat\nthe cat ran\nthe dog\n")};
    request.out = path("words.txt");
    request.options = TextOptions{.format = TextFormat::kLines};
    return request;
  }
  TemporaryFolder folder_;
};

TEST_F(TextFiles, AVocabularyIsOrderedByFrequencyAndSaysWhatItCovers) {
  VocabularyRequest asked = request();
  asked.min_count = 2;
  const VocabularyFile made = write_vocabulary(asked, Progress::silent());
  EXPECT_EQ(file_text(asked.out), "<unk>\nthe\ncat\n");
  EXPECT_EQ(made.files, 1);
  EXPECT_EQ(made.sentences, 3);
  EXPECT_EQ(made.tokens, 8);
  EXPECT_EQ(made.distinct, 5);
  EXPECT_EQ(made.words, 3);
  EXPECT_DOUBLE_EQ(made.covered, 5.0 / 8);
}

TEST_F(TextFiles, AVocabularyWithoutAFrequentWordIsRejectedAndNotWritten) {
  VocabularyRequest asked = request();
  asked.min_count = 9;
  EXPECT_THAT(usage_error_of([&] { write_vocabulary(asked, Progress::silent()); }), HasSubstr("no word occurs 9 times"));
  EXPECT_FALSE(fs::exists(asked.out));
}

TEST_F(TextFiles, AVocabularyNeverOverwritesItsCorpus) {
  VocabularyRequest asked = request();
  asked.out = asked.corpora.front();
  EXPECT_THAT(usage_error_of([&] { write_vocabulary(asked, Progress::silent()); }), HasSubstr("book.txt"));
  EXPECT_EQ(file_text(asked.out).substr(0, 7), "the cat");
}

TEST_F(TextFiles, AWordTableHasTheVectorsOfKnownWordsAndDrawsTheOthers) {
  const WordTableRequest asked = {written("vectors.txt", "cat 1 2 3\nmouse 4 5 6\n"), written("vocabulary.txt", "<unk>\nthe\ncat\n"),
                                  path("t.npy")};
  const WordTableFile made = write_word_table(asked);
  EXPECT_EQ(made.words, 3);
  EXPECT_EQ(made.found, 1);
  EXPECT_EQ(made.dimensions, 3);
  const NpyArray table = read_npy(asked.out);
  const std::vector<float> values{table.as<float>().begin(), table.as<float>().end()};
  EXPECT_EQ(std::vector<float>(values.begin() + 6, values.end()), (std::vector<float>{1, 2, 3}));
  for (size_t i = 0; i < 6; ++i) EXPECT_LE(std::abs(values[i]), 0.1f);
}

}  // namespace text_files_test
}  // namespace debias
