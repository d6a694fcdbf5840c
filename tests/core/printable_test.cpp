#include "debias/core/printable.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace debias {
namespace {

TEST(Printable, QuotesAndEscapes) {
  EXPECT_EQ(printable("layer1.0"), R"("layer1.0")");
  EXPECT_EQ(printable("a\nb\"c\x1b[31m"), R"("a\nb\"c\u001b[31m")");
  EXPECT_EQ(printable("\xc3\xa9\x7f"), "\"\\u00e9\\u007f\"");
}

TEST(Printable, IsOneShortAsciiLineWhateverItIsGiven) {
  for (int c = 0; c < 256; ++c) {
    const std::string shown = printable(std::string(1000, static_cast<char>(c)));
    EXPECT_LT(shown.size(), 400u);
    EXPECT_TRUE(std::all_of(shown.begin(), shown.end(), [](unsigned char each) { return each >= 32 && each < 127; })) << shown;
  }
}

}  // namespace
}  // namespace debias
