#include "debias/results/image_marks.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "debias/core/error.h"

namespace debias {
namespace {

constexpr const char* kLetters = "AaCcRr.";

bool is_right(char mark) { return std::isupper(static_cast<unsigned char>(mark)) != 0; }

char side_of(char mark) { return static_cast<char>(std::toupper(static_cast<unsigned char>(mark))); }

bool is_among(char mark, MarkedImages images) {
  switch (images) {
    case MarkedImages::kAligned:
      return side_of(mark) == 'A';
    case MarkedImages::kConflicting:
      return side_of(mark) == 'C';
    case MarkedImages::kAll:
      break;
  }
  return mark != '.';
}

double share(int64_t right, int64_t images) {
  return images == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(right) / static_cast<double>(images);
}

}  // namespace

double PairedCounts::first() const { return share(both + only_first, images()); }
double PairedCounts::second() const { return share(both + only_second, images()); }

void require_marks(const std::string& marks, const std::string& path) {
  if (const size_t at = marks.find_first_not_of(kLetters); at != std::string::npos)
    throw data_error("reading '{}': letter {} of `marks` must be one of {}; debias eval writes the file again", path, at + 1, kLetters);
}

bool are_of_one_set(const std::string& a, const std::string& b) { return std::ranges::equal(a, b, {}, side_of, side_of); }

PairedCounts paired_counts(const std::string& a, const std::string& b, MarkedImages images) {
  PairedCounts counts;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!is_among(a[i], images)) continue;
    int64_t& cell = is_right(a[i])   ? (is_right(b[i]) ? counts.both : counts.only_first)
                    : is_right(b[i]) ? counts.only_second
                                     : counts.neither;
    ++cell;
  }
  return counts;
}

}  // namespace debias
