// Files of word vectors as text: on every line a word and its numbers, one space between (GloVe, and word2vec's text format, whose first line
// says how many there are and how long). Such files are large: only lines of requested words are read as numbers. Words with spaces,
// of which GloVe's largest file has a few (". . ."), are ignored.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace debias {

using WantsWord = std::function<bool(std::string_view word)>;
using TakeVector = std::function<void(std::string_view word, const std::vector<float>& numbers)>;

// The vectors of wanted words in the order of the file; a repeated word is given twice. Returns how many numbers a vector has.
// FileErrors with the line: another count of numbers than on the lines before (of any word); something else than a finite number behind a
// wanted word. And a file without a vector, and those of TextLines.
size_t for_each_word_vector(const std::string& path, const WantsWord& is_wanted, const TakeVector& take);

}  // namespace debias
