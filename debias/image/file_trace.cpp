#include "debias/image/file_trace.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace debias {
namespace {

std::optional<int> digits(std::string_view text, size_t at, size_t count) {
  if (text.size() < at + count) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value;
}

bool is_one_of(std::string_view text, size_t at, std::string_view separators) {
  return at < text.size() && separators.find(text[at]) != std::string_view::npos;
}

std::optional<std::chrono::year_month_day> date_of(std::string_view text) {
  constexpr size_t kMonth = 5, kDay = 8;
  if (!is_one_of(text, kMonth - 1, ":-/.") || !is_one_of(text, kDay - 1, ":-/.")) return std::nullopt;
  const auto year = digits(text, 0, 4), month = digits(text, kMonth, 2), day = digits(text, kDay, 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  return date.ok() ? std::optional(date) : std::nullopt;
}

}  // namespace

std::string trace_value(std::span<const uint8_t> content) {
  const auto part = content.first(std::min(content.size(), kLongestTrace));
  return {part.begin(), part.end()};
}

std::string trace_key(std::span<const uint8_t> content) {
  constexpr size_t kLongestKey = 32;
  std::string key;
  for (const uint8_t byte : content.first(std::min(content.size(), kLongestKey))) {
    if (byte == 0) break;
    if (byte >= ' ' && byte <= '~') key += static_cast<char>(byte);
  }
  return key;
}

void add_text_trace(const std::string& name, const std::string& text, FileTraces& traces) {
  constexpr size_t kHour = 11;
  const auto date = date_of(text);
  if (!date) {
    traces.push_back({name, text.substr(0, kLongestTrace)});
    return;
  }
  const std::chrono::sys_days day(*date);
  traces.push_back({name + " day", std::to_string(day.time_since_epoch().count())});
  traces.push_back({name + " month", std::to_string(static_cast<unsigned>(date->month()))});
  traces.push_back({name + " weekday", std::to_string(std::chrono::weekday(day).c_encoding())});
  const auto hour = digits(text, kHour, 2);
  if (hour && is_one_of(text, kHour - 1, " T")) traces.push_back({name + " hour", std::to_string(*hour)});
}

}  // namespace debias
