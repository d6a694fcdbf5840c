// Sentences of text files, and their words: what a vocabulary is counted on and a corpus is made of.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "debias/core/options.h"
#include "debias/text/characters.h"

namespace debias {

enum class TextFormat { kText, kLines };
template <>
struct EnumNames<TextFormat> {
  static constexpr std::array<std::pair<std::string_view, TextFormat>, 2> values = {
      {{"text", TextFormat::kText}, {"lines", TextFormat::kLines}}};
};

// Reading of files. kText: paragraphs (sentence_split.h); kLines: a sentence a line. Blank lines give none either way.
class TextOptions {
 public:
  DEBIAS_OPTION(TextOptions, TextFormat, format, TextFormat::kText)
  DEBIAS_OPTION(TextOptions, Encoding, encoding, Encoding::kUtf8)
  DEBIAS_OPTION(TextOptions, bool, lowercase, false)
  static const OptionTable<TextOptions>& table();
};

struct TextFile {
  std::string name;  // below the root: "novels/tess.txt"; of a root that is a file, the file's name
  std::string path;
};

// Version of the rules that split sentences and words. Raise it when their result changes: numbered corpora are then made anew.
constexpr int kTextRules = 1;

// `root` itself where it is a file, else every .txt file below it (.TXT too), in order of the names. Files and folders whose names begin
// with a dot are ignored; linked folders are entered, each once. FileErrors: there is none; one that cannot be looked at, such as a link
// to a file that is gone.
std::vector<TextFile> text_files(const std::string& root, const std::string& what);

// The root and every folder below it that text_files looks into, those to which links lead among them: what were written into one could be
// read as a book. One that cannot be listed ends nothing.
std::vector<std::string> text_folders(const std::string& root);

// Each sentence's words, of sentences that have any. FileErrors of TextLines, and of a file without a sentence.
void for_each_sentence(const TextFile& file, const TextOptions& options, const std::function<void(const std::vector<std::string>&)>& take);

// The words of a text of its own (a line of a file): the sentences' in it, one after the other.
std::vector<std::string> words_of(std::string_view text, bool lowercase);

}  // namespace debias
