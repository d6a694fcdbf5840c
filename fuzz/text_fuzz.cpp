// Text: lines of a file, sentences of lines, words of sentences, and vocabularies.
#include <algorithm>

#include "debias/core/printable.h"
#include "debias/text/characters.h"
#include "debias/text/tokeniser.h"
#include "debias/text/vocabulary.h"
#include "fuzz/fuzz_target.h"

namespace debias {
namespace {

void require_words(std::string_view sentence) {
  for (const auto& word : tokenise(sentence)) {
    fuzz::require(!word.empty() && word.find(' ') == std::string::npos, "words are not empty and hold no space");
    fuzz::require(utf8_length(word) == word.size(), "words are UTF-8");
  }
}

void read_lines(const std::string& path, Encoding encoding) {
  TextLines lines(path, encoding);
  SentenceSplitter splitter([](const std::string& sentence) { require_words(sentence); });
  for (std::string_view line; lines.next(line);) {
    fuzz::require(utf8_length(line) == line.size(), "lines are UTF-8");
    fuzz::require(line.find('\n') == std::string_view::npos, "lines hold no line end");
    require_words(line);
    splitter.line(line);
  }
  splitter.end();
}

}  // namespace
}  // namespace debias

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  static fuzz::MemoryFile file;
  file.hold({data, size});
  for (const Encoding encoding : {Encoding::kUtf8, Encoding::kLatin1}) {
    fuzz::refused_only_as(ErrorKind::kData, [&] { read_lines(file.path(), encoding); });
  }
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    const Vocabulary words = Vocabulary::read(file.path());
    for (int64_t i = 0; i < words.size(); ++i) fuzz::require(words.number(words.word(i)) == i, "every word has its number");
  });
  return 0;
}
