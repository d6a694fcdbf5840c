// Sentences: their tasks, vocabularies that grow, and the protocols on them.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/core/registry.h"
#include "debias/encoders/sentence_encoders.h"
#include "debias/encoders/state.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/evaluate/sentence_reader.h"
#include "debias/evaluate/sentence_tasks.h"
#include "tests/evaluate/sentence_toy.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace sentences_test {

using testing::ElementsAre;
using testing::HasSubstr;

// Texts are numbers, of which a vector of eight is drawn: its first element says the class, and how surely.
at::Tensor drawn_vectors(const std::vector<std::string>& texts, double signal, int64_t classes) {
  at::Tensor vectors = at::empty({std::ssize(texts), 8});
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto number = static_cast<uint64_t>(std::stoll(texts[i]));
    Random random({.seed = 5, .sample = number});
    for (int64_t j = 0; j < 8; ++j) {
      const bool own = j == static_cast<int64_t>(number) % classes;
      vectors[static_cast<int64_t>(i)][j] = random.normal() + (own ? signal : 0);
    }
  }
  return vectors;
}

LabelledText numbers(int64_t first, int64_t count, int64_t classes) {
  LabelledText part;
  for (int64_t i = first; i < first + count; ++i) {
    part.texts.push_back(std::to_string(i));
    part.labels.push_back(i % classes);
  }
  return part;
}

EmbedTexts embedding(double signal, int64_t classes) {
  return [signal, classes](const std::vector<std::string>& texts) { return drawn_vectors(texts, signal, classes); };
}

TEST(SentenceTasks, CutsFoldsAsScikitLearnDoes) {
  EXPECT_THAT(fold_ends(23, 10), ElementsAre(3, 6, 9, 11, 13, 15, 17, 19, 21, 23));
  EXPECT_THAT(fold_ends(20, 4), ElementsAre(5, 10, 15, 20));
}

TEST(SentenceTasks, TellClassesByFolds) {
  SentenceSet set{"mr", {"0", "1"}, numbers(0, 300, 2), {}};
  for (const TaskMode mode : {TaskMode::kFull, TaskMode::kCheap}) {
    const TaskResult clear = evaluate_task(set, embedding(3, 2), mode, 1), blind = evaluate_task(set, embedding(0, 2), mode, 1);
    ASSERT_EQ(clear.scores.size(), 1u);
    EXPECT_EQ(clear.scores[0].metric, "mr_acc");
    EXPECT_GT(clear.scores[0].value, 0.95);
    EXPECT_NEAR(blind.scores[0].value, 0.5, 0.1);
    EXPECT_EQ(clear.C.size(), 10u);
    EXPECT_EQ(clear.evaluated, 300);
    EXPECT_DOUBLE_EQ(clear.majority, 0.5);
    EXPECT_LT(clear.scores[0].interval.first, clear.scores[0].value);
    EXPECT_GT(clear.scores[0].interval.second, clear.scores[0].value);
    EXPECT_EQ(clear.unfinished, 0);
  }
}

TEST(SentenceTasks, TellManyClassesOnATestSet) {
  SentenceSet set{"trec", {"A", "B", "C", "D"}, numbers(0, 400, 4), numbers(1000, 100, 4)};
  const TaskResult result = evaluate_task(set, embedding(3.5, 4), TaskMode::kFull, 1);
  EXPECT_GT(result.scores[0].value, 0.9);
  EXPECT_EQ(result.evaluated, 100);
  EXPECT_EQ(result.C.size(), 1u);
}

TEST(SentenceTasks, TellPairsByTheirDifference) {
  const auto pairs = [](int64_t first, int64_t count) {  // alike are pairs of neighbours of one class
    LabelledText part;
    for (int64_t i = first; i < first + count; ++i) {
      const bool alike = i % 3 != 0;
      part.texts.push_back(std::to_string(2 * i));
      part.seconds.push_back(std::to_string(alike ? 2 * i : 2 * i + 1));
      part.labels.push_back(alike ? 1 : 0);
    }
    return part;
  };
  SentenceSet set{"msrp", {"0", "1"}, pairs(0, 300), pairs(1000, 120)};
  const TaskResult result = evaluate_task(set, embedding(1, 2), TaskMode::kFull, 1);
  ASSERT_EQ(result.scores.size(), 2u);
  EXPECT_EQ(result.scores[1].metric, "msrp_f1");
  EXPECT_GT(result.scores[0].value, 0.95);
  EXPECT_GT(result.scores[1].value, 0.95);
  EXPECT_LE(result.scores[1].interval.first, result.scores[1].value);
  EXPECT_NEAR(result.majority, 2.0 / 3, 0.01);
}

// F1 of class 1 by hand: the commoner class said of all 120 gives 2 * 80 / (120 + 80).
TEST(SentenceTasks, F1OfBlindVectorsIsThatOfTheMajority) {
  LabelledText train = numbers(0, 300, 3), test = numbers(0, 120, 3);
  for (LabelledText* part : {&train, &test}) {
    part->seconds = part->texts;
    for (int64_t& label : part->labels) label = label > 0 ? 1 : 0;
  }
  const EmbedTexts zeros = [](const std::vector<std::string>& texts) { return at::zeros({std::ssize(texts), 4}); };
  const TaskResult result = evaluate_task({"msrp", {"0", "1"}, train, test}, zeros, TaskMode::kFull, 1);
  EXPECT_DOUBLE_EQ(result.scores[1].value, 2.0 * 80 / (120 + 80));
  EXPECT_THAT(result.C, ElementsAre(1));  // all are equal: the first
}

TEST(SentenceTasks, RefuseTooFewTexts) {
  EXPECT_EQ(data_error_of([] {
              evaluate_task({"cr", {"0", "1"}, numbers(0, 19, 2), {}}, embedding(1, 2), TaskMode::kFull, 1);
            }),
            "eval: sentence set 'cr' has 19 texts to train on, ten folds need at least 20");
}

// Which task each report belongs to.
class NotedTasks : public Progress {
 public:
  void begin(const std::string& label, int64_t) override { now_ = label; }
  void advance(int64_t, const std::string& note) override {
    if (note.starts_with("C = ")) fits.insert(now_);
  }
  void end() override { now_ = "none"; }
  std::set<std::string> fits;

 private:
  std::string now_ = "none";
};

TEST(SentenceTasks, ReportTheirFitsUnderTheirNameBehindThatOfEmbedding) {
  NotedTasks progress;
  const EmbedTexts embed = [&](const std::vector<std::string>& texts) {
    progress.begin("sentence vectors", 1);
    progress.end();
    return drawn_vectors(texts, 3, 2);
  };
  evaluate_task({"mr", {"0", "1"}, numbers(0, 60, 2), {}}, embed, TaskMode::kCheap, 1, progress);
  evaluate_task({"trec", {"A", "B"}, numbers(0, 60, 2), numbers(1000, 20, 2)}, embed, TaskMode::kCheap, 1, progress);
  EXPECT_THAT(progress.fits, ElementsAre("mr: fits", "trec: fits"));
}

at::Tensor drawn(int64_t rows, int64_t columns, uint64_t seed) {
  at::Tensor values = at::empty({rows, columns}, at::kDouble);
  Random random({.seed = seed});
  double* out = values.mutable_data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) out[i] = random.uniform(-1, 1);
  return values;
}

double largest(const at::Tensor& difference) { return difference.abs().max().item<double>(); }

TEST(LinearMap, IsFoundExactlyWhereThereIsOne) {
  for (const int64_t S : {12, 64, 4096, 4097, 9000}) {  // rows are taken 4096 at a time
    const at::Tensor from = drawn(S, 4, 1), weight = drawn(4, 3, 2), intercept = drawn(1, 3, 3).squeeze(0);
    const LinearMap map = fit_linear_map(from, from.mm(weight) + intercept);
    EXPECT_EQ(map.rank, 4);
    EXPECT_LT(largest(map.weight - weight), 1e-10) << S;
    EXPECT_LT(largest(map.intercept - intercept), 1e-10) << S;
    const at::Tensor further = drawn(7, 4, 4);
    EXPECT_LT(largest(map(further) - (further.mm(weight) + intercept)), 1e-10) << S;
  }
}

// Residuals of least squares are orthogonal to every column and to the constant.
TEST(LinearMap, IsTheBestWhereThereIsNone) {
  const at::Tensor from = drawn(50, 4, 1), to = drawn(50, 3, 2);
  const at::Tensor residual = to - fit_linear_map(from, to)(from);
  EXPECT_LT(largest(from.t().mm(residual)), 1e-11);
  EXPECT_LT(largest(residual.sum(0)), 1e-11);
  EXPECT_GT(largest(residual), 0.1);
}

TEST(LinearMap, SaysInHowManyDirectionsItsInputVaries) {
  const auto rank = [](const at::Tensor& from) { return fit_linear_map(from, drawn(from.size(0), 2, 2)).rank; };
  const at::Tensor combined = drawn(50, 4, 1), fixed = drawn(50, 4, 1), shifted = drawn(50, 4, 1);
  combined.select(1, 3).copy_(combined.select(1, 0) - 2 * combined.select(1, 2));
  fixed.select(1, 2).fill_(0.3);
  shifted.select(1, 3).copy_(2 * shifted.select(1, 0) + 1);
  EXPECT_EQ(rank(combined), 3);
  EXPECT_EQ(rank(fixed), 3);
  EXPECT_EQ(rank(shifted), 3);
  EXPECT_EQ(rank(drawn(4, 4, 1)), 3);
  EXPECT_EQ(rank(drawn(50, 4, 1)), 4);
}

const std::vector<std::string> kWords = {"<unk>", "a", "b", "c", "d", "e", "f", "g"};
constexpr int64_t kNumbers = 4;

std::shared_ptr<Encoder> encoder_of(const std::string& name, int64_t words, uint64_t seed) {
  if (name == "gru") return make_gru(GruOptions{.embedding = kNumbers, .features = 6}, words, seed);
  return make_bag_of_words(BagOfWordsOptions{.features = kNumbers}, words, seed);
}

std::shared_ptr<Encoder> pair_of(const std::string& name, int64_t words) {
  return sentence_pair(encoder_of(name, words, 1), encoder_of(name, words, 2));
}

at::Tensor table_of(const Encoder& pair, const std::string& name) {
  for (const auto& [key, tensor] : named_state(pair)) {
    if (key == name) return tensor;
  }
  return {};
}

// `large` knows one word more than `small`, and is the same otherwise; the rows of g are those of f under a linear map with an intercept.
void make_alike(const Encoder& small, const Encoder& large) {
  const at::NoGradGuard no_grad;
  const at::Tensor f = table_of(large, "f.embedding");
  table_of(large, "g.embedding").copy_(f * 3 + f.roll(1, 1) * 0.5 - 0.25);
  for (const auto& [name, tensor] : named_state(small)) {
    const at::Tensor other = table_of(large, name);
    tensor.copy_(name.ends_with(".embedding") ? other.slice(0, 0, tensor.size(0)) : other);
  }
}

class VocabularyExpansion : public testing::Test {
 protected:
  std::string file(const std::string& text) const {
    std::ofstream(folder_ / "v.txt", std::ios::binary) << text;
    return folder_ / "v.txt";
  }
  // A line for each word, its numbers a row of the table.
  static std::string lines(const std::vector<std::string>& words, const at::Tensor& rows) {
    std::string text;
    for (size_t i = 0; i < words.size(); ++i) {
      text += words[i];
      for (int64_t j = 0; j < rows.size(1); ++j) text += fmt::format(" {:.17g}", rows[static_cast<int64_t>(i)][j].item<double>());
      text += "\n";
    }
    return text;
  }
  std::string refused(const std::string& text) const {
    const auto pair = pair_of("bag_of_words", std::ssize(kWords));
    const std::string message = data_error_of([&] { expand_vocabulary(*pair, Vocabulary(kWords), file(text), {"zebra"}); });
    EXPECT_EQ(table_of(*pair, "f.embedding").size(0), std::ssize(kWords));
    return message;
  }

  TemporaryFolder folder_;
};

TEST_F(VocabularyExpansion, MakesAWordAsIfTheVocabularyHadIt) {
  const int64_t V = std::ssize(kWords);
  for (const std::string name : {"bag_of_words", "gru"}) {
    const auto small = pair_of(name, V), large = pair_of(name, V + 1);
    make_alike(*small, *large);
    std::vector<std::string> words = kWords;
    words.emplace_back("zebra");
    const at::Tensor table = table_of(*large, "f.embedding").detach();
    const at::Tensor ids = at::tensor(std::vector<int64_t>{1, 2, V, V, 3, -1}, at::kLong).view({2, 3});
    const at::Tensor known = at::tensor({1, 2, 0, 4, 3, -1}, at::kLong).view({2, 3});
    const at::Tensor before = small->forward(known).detach();
    EXPECT_THROW(small->forward(ids), Error);
    const Expansion expansion = expand_vocabulary(*small, Vocabulary(kWords), file(lines(words, table)), {"lion", "zebra"});
    EXPECT_EQ(expansion.shared, V - 1);  // without <unk>, of which the file has a vector
    EXPECT_THAT(expansion.words, ElementsAre("zebra"));
    EXPECT_LT(largest(small->forward(ids) - large->forward(ids)), 1e-5) << name;
    EXPECT_TRUE(small->forward(known).equal(before)) << name;
  }
}

TEST_F(VocabularyExpansion, NumbersWordsBehindTheVocabulary) {
  const auto pair = pair_of("bag_of_words", std::ssize(kWords));
  std::vector<std::string> words = kWords;
  words.insert(words.end(), {"zebra", "new_york", "lion", "unasked"});
  const at::Tensor rows = drawn(std::ssize(words), 2, 5);
  const Expansion expansion =
      expand_vocabulary(*pair, Vocabulary(kWords), file(lines(words, rows)), {"zebra", "new_york", "lion", "tiger"});
  EXPECT_THAT(expansion.words, ElementsAre("lion", "zebra"));
  const at::Tensor table = table_of(*pair, "g.embedding").detach();
  ASSERT_EQ(table.sizes(), (std::vector<int64_t>{std::ssize(kWords) + 2, kNumbers}));
  const at::Tensor single = rows.to(at::kFloat);
  const LinearMap map = fit_linear_map(single.slice(0, 1, std::ssize(kWords)), table.slice(0, 1, std::ssize(kWords)));
  EXPECT_LT(largest(table[std::ssize(kWords) + 1] - map(single.slice(0, 8, 9))[0]), 1e-6);  // zebra
  EXPECT_LT(largest(table[std::ssize(kWords)] - map(single.slice(0, 10, 11))[0]), 1e-6);    // lion
}

TEST_F(VocabularyExpansion, TakesTheLastOfAWordThatStandsTwice) {
  const auto once = pair_of("bag_of_words", std::ssize(kWords)), twice = pair_of("bag_of_words", std::ssize(kWords));
  std::vector<std::string> words = kWords;
  words.emplace_back("zebra");
  const std::string text = lines(words, drawn(std::ssize(words), 2, 5));
  expand_vocabulary(*once, Vocabulary(kWords), file(text), {"zebra"});
  expand_vocabulary(*twice, Vocabulary(kWords), file("zebra 9 9\na 7 8\n" + text), {"zebra"});
  EXPECT_TRUE(table_of(*once, "f.embedding").equal(table_of(*twice, "f.embedding")));
}

TEST_F(VocabularyExpansion, RefusesFilesThatSayTooLittle) {
  const at::Tensor rows = drawn(std::ssize(kWords), 7, 5);
  EXPECT_THAT(refused("zebra 1 2\nlion 3 4\n"), HasSubstr("v.txt: it has not one word of the run's vocabulary"));
  EXPECT_THAT(refused("<unk> 1 2\nA 3 4\n"), HasSubstr("v.txt: it has not one word of the run's vocabulary"));
  EXPECT_THAT(refused(lines(kWords, rows)),
              HasSubstr("v.txt: 7 of its words are in the run's vocabulary, and a map from vectors of 7 numbers takes 8"));
  EXPECT_THAT(refused("a 1 2\nb 2 4\nc 3 6\nd -1 -2\nzebra 1 1\n"),
              HasSubstr("v.txt: vectors of the 4 words that are in the run's vocabulary vary in 1 of 2 directions"));
  EXPECT_THAT(refused("a 1 2\nb 2 x\nc 3 6\n"), HasSubstr("v.txt: line 2: \"x\" is not a number"));
  EXPECT_THAT(refused("a 0 0\nb 1e-30 0\nc 0 1e-30\nd 2e-30 1e-30\nzebra 3e38 1\n"), HasSubstr("v.txt: a mapped vector is not finite"));
}

// The protocols of runs on sentences: neighbours among consecutive sentences, and tasks on sets of their own.

TEST(NeighboursProtocol, SaysHowOftenTheLargestScoreIsOfASentenceNextToIt) {
  SentenceToy toy;
  const EvaluationResult found = evaluated(toy.input(), "neighbours");
  const NeighbourRetrieval direct = retrieve_neighbours(*toy.reader()->encoder, toy.books(), 10);
  EXPECT_EQ(found.metrics.at("test.neighbour_acc"), direct.accuracy());
  EXPECT_EQ(found.record.intervals.at("test.neighbour_acc"), direct.interval());
  EXPECT_EQ(found.record.counts, (decltype(found.record.counts){{"test", kSmallBooks * kSmallSentences}}));
  EXPECT_EQ(details(found)["options"], (Json{{"batch_size", 10}, {"chance", 0.2}}));
}

TEST(NeighboursProtocol, TakesItsBatchSizeAndItsSetsInTheirOrder) {
  SentenceToy toy;
  toy.input().sentences->evaluated = {{"valid", toy.books()}, {"test", toy.books()}};
  const EvaluationResult found = evaluated(toy.input(), "neighbours", "{batch_size: 40}");
  EXPECT_EQ(details(found)["options"]["chance"], 0.05);
  ASSERT_EQ(found.record.metrics.size(), 2u);
  EXPECT_EQ(found.record.metrics[0].first, "valid.neighbour_acc");
  EXPECT_NE(found.metrics.at("test.neighbour_acc"), evaluated(toy.input(), "neighbours").metrics.at("test.neighbour_acc"));
  toy.input().sentences->evaluated.clear();
  EXPECT_THAT(usage_error_of([&] { evaluated(toy.input(), "neighbours"); }), HasSubstr("neither data.valid nor data.test"));
}

TEST(SentencesProtocol, DescribesEachTaskInItsRecord) {
  SentenceToy toy;
  toy.input().sentences->described = {{"untrained", true}};
  const EvaluationResult found = evaluated(toy.input(), "sentences", toy.task_options());
  ASSERT_EQ(found.record.tasks.size(), 1u);
  const EvaluatedTask& task = found.record.tasks[0];
  EXPECT_EQ(task.name, "cr");
  EXPECT_EQ(task.evaluated, 60);
  EXPECT_EQ(task.texts, 60);
  EXPECT_EQ(task.unknown, 0);
  EXPECT_EQ(task.majority, 0.5);
  EXPECT_EQ(task.C.size(), 10u);
  EXPECT_EQ(task.digest.size(), 64u);
  EXPECT_GT(found.metrics.at("cr_acc"), 0.9);  // each class has words of its own
  const Json json = details(found);
  EXPECT_EQ(json["counts"], (Json{{"cr", 60}}));
  EXPECT_EQ(json["options"]["mode"], "full");
  EXPECT_EQ(json["options"]["dimensions"], 12);
  EXPECT_EQ(json["options"]["untrained"], true);
  EXPECT_FALSE(json["options"].contains("root"));  // a place of one machine
}

TEST(SentencesProtocol, PreparesForAllTextsBeforeTheFirstIsEmbedded) {
  SentenceToy toy;
  size_t prepared = 0, embedded = 0;
  const auto embed = toy.input().sentences->embed;
  toy.input().sentences->prepare = [&](const std::vector<std::string>& texts) {
    prepared = texts.size();
    EXPECT_EQ(embedded, 0u);
  };
  toy.input().sentences->embed = [&](const std::vector<std::string>& texts) {
    embedded += texts.size();
    return embed(texts);
  };
  evaluated(toy.input(), "sentences", toy.task_options());
  EXPECT_EQ(prepared, 60u);
  EXPECT_EQ(embedded, 60u);
}

TEST(SentencesProtocol, NotesMissingSetsAndTextsWithoutAKnownWord) {
  SentenceToy toy;
  std::ofstream(toy.sets() + "/custrev.pos", std::ios::app) << "zebra zebu\n";
  const EvaluationResult found = evaluated(toy.input(), "sentences", "{root: " + toy.sets() + ", mode: cheap}");
  EXPECT_EQ(found.record.tasks[0].unknown, 1);
  EXPECT_THAT(found.notes, testing::Contains(HasSubstr("1 of 61 texts of 'cr' have no word that the run knows")));
  EXPECT_THAT(found.notes, testing::Contains(HasSubstr("no files of 'trec'")));
}

TEST(SentencesProtocol, RefusesWhatItCannotEvaluate) {
  SentenceToy toy;
  const auto refusal = [&](const std::string& yaml) { return usage_error_of([&] { evaluated(toy.input(), "sentences", yaml); }); };
  EXPECT_THAT(refusal("{}"), HasSubstr("no root is given"));
  EXPECT_THAT(refusal("{root: x, tasks: [mpca]}"), HasSubstr("unknown task 'mpca'; did you mean 'mpqa'?"));
  EXPECT_THAT(refusal("{root: x, tasks: [mr, mr]}"), HasSubstr("'mr' is requested twice"));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { evaluated(toy.input(), "sentences", "{tasks: [mr], root: " + toy.sets() + "}"); }),
              HasSubstr("no sentence set in '"));
}

TEST(ProtocolFor, NamesTheProtocolsThatReadSuchSamples) {
  EXPECT_EQ(protocol_for(SampleKind::kImages, "linear").name, "linear_dcl");
  const std::vector<std::string> of_sentences = protocols_for(SampleKind::kSentences);
  EXPECT_THAT(of_sentences, testing::ElementsAre("neighbours", "sentences"));
  EXPECT_TRUE(find_entry(protocol_registry(), "neighbours", "protocol").metrics.at(0).of_batch);
  for (const ProtocolEntry& entry : protocol_registry()) {
    const bool reads_sentences = std::ranges::find(of_sentences, entry.name) != of_sentences.end();
    const SampleKind reads = reads_sentences ? SampleKind::kSentences : SampleKind::kImages;
    EXPECT_EQ(&protocol_for(reads, entry.name), &entry);
    const std::string refusal =
        usage_error_of([&] { protocol_for(reads_sentences ? SampleKind::kImages : SampleKind::kSentences, entry.name, "eval: "); });
    const std::string own = reads_sentences ? "sentences" : "images", other = reads_sentences ? "images" : "sentences";
    EXPECT_THAT(refusal, HasSubstr(fmt::format("eval: protocol '{}' is for {}, and the run is on {}", entry.name, own, other)));
    if (reads_sentences) continue;
    EXPECT_THAT(refusal, testing::EndsWith(fmt::format("; for these there are: {}", fmt::join(of_sentences, ", "))));
  }
}

TEST(SentenceReader, JoinsSeveralReadersAndKnowsWhatOneOfThemKnows) {
  SentenceToy one, two;
  const SentenceInput both = sentence_input({one.reader(), two.reader()}, Progress::silent());
  EXPECT_EQ(both.dimensions, 24);
  EXPECT_EQ(both.embed({"w1 w2", "zebra"}).sizes().vec(), (std::vector<int64_t>{2, 24}));
  EXPECT_TRUE(both.knows("zebra W1"));
  EXPECT_FALSE(both.knows("zebra"));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { both.embed({"w1", " "}); }), HasSubstr("text 2 has no word"));
}

}  // namespace sentences_test
}  // namespace debias
