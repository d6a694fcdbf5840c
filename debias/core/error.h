// The one exception of the library.
//
// A user's mistake throws debias::Error with a kind and a one-line message: what was asked, what was found, what to do.
// The command maps kinds to exit codes in one place (apps/debias/main.cpp). Broken invariants assert instead.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace debias {

enum class ErrorKind {
  kFailure,      // exit 1: a requested condition is not met
  kUsage,        // exit 2: options, recipes, ranges, existing outputs
  kData,         // exit 3: missing, corrupt or mislabelled data
  kNumeric,      // exit 4: non-finite loss or weights
  kResource,     // exit 5: memory or disk
  kInterrupted,  // exit 75: stopped by a signal, a resumable checkpoint is written
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string message) : std::runtime_error(without_nul(std::move(message))), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  // what() would end at a NUL, which text from a file may have.
  static std::string without_nul(std::string message) {
    for (size_t at = 0; (at = message.find('\0', at)) != std::string::npos;) message.replace(at, 1, "\\x00");
    return message;
  }

  ErrorKind kind_;
};

template <class... Args>
Error usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kUsage, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error data_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kData, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error numeric_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kNumeric, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error resource_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::kResource, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace debias
