// The one exception of the library.
//
// A user's mistake throws debias::Error with a kind and a one-line message: what was asked, what was found, what to do.
// The command maps kinds to exit codes in one place (apps/debias/main.cpp). Broken invariants assert instead.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/printable.h"

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

// Several mistakes of one user, reported together: who misspelt three keys of a recipe reads three lines, and not one after the other.
//
//   Mistakes mistakes;
//   mistakes.collect([&] { read_first(...); });
//   mistakes.collect([&] { read_second(...); });
//   mistakes.throw_if_any();
class UsageErrors : public Error {  // what() is the first message, and how many more there are
 public:
  explicit UsageErrors(std::vector<std::string> messages);
  const std::vector<std::string>& messages() const { return messages_; }  // one line each, two or more

 private:
  std::vector<std::string> messages_;
};

class Mistakes {
 public:
  // Runs `check` and keeps its usage error; what else it throws passes. False where it threw one.
  template <class Check>
  bool collect(const Check& check) {
    try {
      check();
      return true;
    } catch (const UsageErrors& several) {
      for (const auto& message : several.messages()) add(message);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
      add(error.what());
    }
    return false;
  }

  void throw_if_any() const;  // a usage error: the only message, or UsageErrors with all of them

 private:
  void add(const std::string& message);  // the same message counts once

  std::vector<std::string> messages_;
};

// A data error with its file, so that a check can list path and reason separately.
class FileError : public Error {  // kData; the message is "PATH: REASON", without control characters
 public:
  FileError(std::string path, std::string reason)
      : Error(ErrorKind::kData, without_control_characters(path + ": " + reason)), path_(std::move(path)), reason_(std::move(reason)) {}
  const std::string& path() const { return path_; }
  const std::string& reason() const { return reason_; }

 private:
  std::string path_;
  std::string reason_;
};

}  // namespace debias
