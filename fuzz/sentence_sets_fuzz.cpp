// The published files of sentence sets: questions and pairs, the first half of the bytes to train on and the rest to test.
#include "debias/text/sentence_sets.h"

#include "fuzz/fuzz_target.h"

namespace debias {
namespace {

void require_whole(const LabelledText& part, size_t classes, bool pairs) {
  fuzz::require(part.texts.size() == part.labels.size(), "every text has a label");
  fuzz::require(part.seconds.size() == (pairs ? part.texts.size() : 0), "every pair has two");
  for (const int64_t label : part.labels) fuzz::require(label >= 0 && label < static_cast<int64_t>(classes), "labels are of classes");
  for (const auto& text : part.texts) fuzz::require(!text.empty(), "texts are not empty");
}

}  // namespace
}  // namespace debias

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  static fuzz::MemoryFolder questions({"TREC.train", "TREC.test"}), pairs({"msr_paraphrase_train.txt", "msr_paraphrase_test.txt"}),
      lines({"custrev.pos", "custrev.neg"});
  const struct {
    fuzz::MemoryFolder& folder;
    const char* name;
  } sets[] = {{questions, "trec"}, {pairs, "msrp"}, {lines, "cr"}};
  for (const auto& [folder, name] : sets) {
    folder.hold(0, {data, size / 2});
    folder.hold(1, {data + size / 2, size - size / 2});
    fuzz::refused_only_as(ErrorKind::kData, [&, &root = folder.path(), set_name = std::string(name)] {
      const auto set = read_sentence_set(set_name, root);
      fuzz::require(set.has_value(), "the files are there");
      require_whole(set->train, set->classes.size(), set->has_pairs());
      if (set->test) require_whole(*set->test, set->classes.size(), set->has_pairs());
    });
  }
  return 0;
}
