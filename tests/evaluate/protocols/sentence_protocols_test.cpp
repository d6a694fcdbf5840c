// The protocols of runs on sentences: neighbours among consecutive sentences, and tasks on sets of their own.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "debias/core/registry.h"
#include "debias/evaluate/neighbour_retrieval.h"
#include "debias/evaluate/protocol_registry.h"
#include "tests/evaluate/sentence_toy.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace sentence_protocols_test {

using testing::HasSubstr;

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

}  // namespace sentence_protocols_test
}  // namespace debias
