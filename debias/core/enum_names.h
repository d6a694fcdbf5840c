// Words for the values of enums, as recipes, tables and records have them.
//
//   enum class Clamp { kFloor, kFallback, kNone };
//   constexpr auto enum_words(Clamp) { return named("floor", "fallback", "none"); }
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace debias {

// The words of an enum's values, which count from 0, default first:
//   constexpr auto enum_words(Clamp) { return named("floor", "fallback", "none"); }
template <class... Words>
constexpr std::array<std::string_view, sizeof...(Words)> named(Words... words) {
  return {words...};
}

template <class E>
struct EnumNames {
  static constexpr auto values = [] {
    constexpr auto words = enum_words(E{});
    std::array<std::pair<std::string_view, E>, words.size()> pairs;
    for (size_t i = 0; i < words.size(); ++i) pairs[i] = {words[i], static_cast<E>(i)};
    return pairs;
  }();
};

template <class E>
std::string_view enum_name(E value) {
  for (const auto& [name, candidate] : EnumNames<E>::values) {
    if (candidate == value) return name;
  }
  return "?";
}

}  // namespace debias
