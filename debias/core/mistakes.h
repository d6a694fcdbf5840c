// Several mistakes of one user, reported together: who misspelt three keys of a recipe reads three lines, and not one after the other.
//
//   Mistakes mistakes;
//   mistakes.collect([&] { read_first(...); });
//   mistakes.collect([&] { read_second(...); });
//   mistakes.throw_if_any();
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/core/error.h"

namespace debias {

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

}  // namespace debias
