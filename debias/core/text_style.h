// How a command prints its result for a person.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

namespace debias {

struct TextStyle {
  bool verbose = false;  // all of it; else the verdict and what is to be done, in at most kShortText lines
  bool colour = false;
  std::string bar = {};  // the character that bars are made of; empty: no bars
};

constexpr int kShortText = 15;  // lines

// A bar of `width` characters as full as the share, with a blank in front; "" where there are no bars. A share above 0 has at least one.
inline std::string share_bar(double share, const TextStyle& style, int width = 10) {
  if (style.bar.empty()) return "";
  const double part = std::isnan(share) ? 0 : std::clamp(share, 0.0, 1.0);
  const int filled = part > 0 ? std::max(1, static_cast<int>(std::lround(part * width))) : 0;
  std::string text = " ";
  for (int i = 0; i < filled; ++i) text += style.bar;
  return text + std::string(static_cast<size_t>(width - filled), ' ');
}

}  // namespace debias
