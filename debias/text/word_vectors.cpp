#include "debias/text/word_vectors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "debias/core/config.h"
#include "debias/core/file_error.h"
#include "debias/text/text_lines.h"

namespace debias {
namespace {

float number_of(const TextLines& lines, std::string_view text) {
  double value = 0;
  if (!parse_number(text, &value)) lines.refuse(fmt::format("{} is not a number", printable(text)));
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()))
    lines.refuse(fmt::format("{} is not finite in single precision", printable(text)));
  return static_cast<float>(value);
}

// Of " 0.1 -0.2 ...".
std::vector<float> numbers_behind(const TextLines& lines, std::string_view rest, size_t count) {
  std::vector<float> numbers;
  numbers.reserve(count);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const size_t end = std::min(rest.find(' '), rest.size());
    numbers.push_back(number_of(lines, rest.substr(0, end)));
    rest.remove_prefix(end);
  }
  return numbers;
}

// Of a line with more parts than a word and its numbers: whether those before the numbers are a word, and no further number.
bool has_spaced_word(std::string_view line, size_t dimensions) {
  for (size_t i = 0; i < dimensions; ++i) line.remove_suffix(line.size() - line.rfind(' '));
  const std::string_view last = line.substr(line.rfind(' ') + 1);
  double number = 0;
  return !last.empty() && !parse_number(last, &number);
}

}  // namespace

size_t for_each_word_vector(const std::string& path, const WantsWord& is_wanted, const TakeVector& take) {
  TextLines lines(path);
  size_t dimensions = 0;
  for (std::string_view line; lines.next(line);) {
    while (line.ends_with(' ')) line.remove_suffix(1);  // word2vec ends its lines with one
    const auto count = static_cast<size_t>(std::count(line.begin(), line.end(), ' '));
    if (lines.number() == 1 && count == 1) continue;  // how many, and how long
    if (dimensions == 0) dimensions = count;
    if (count > dimensions && has_spaced_word(line, dimensions)) continue;
    if (count == 0)
      lines.refuse("no numbers behind the word; every line of a file of word vectors is a word and its numbers, one space between");
    if (count != dimensions) {
      lines.refuse(fmt::format("{} numbers behind a word, {} on the lines before", count, dimensions));
    }
    const std::string_view word = line.substr(0, line.find(' '));
    if (is_wanted(word)) take(word, numbers_behind(lines, line.substr(word.size()), count));
  }
  if (dimensions == 0) throw FileError(path, "not one vector in it; expected a word and its numbers on every line");
  return dimensions;
}

}  // namespace debias
