// Turns an options struct and a free function into an entry of the registry. Such an objective checks its options when it is made and when
// one is set, not whenever it is called: its function takes them as checked, and the one that callers use checks them first (verified).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/losses/objective.h"

namespace debias {

// The options; usage errors where they are out of range.
template <class Options>
const Options& verified(const Options& options, const char* what) {
  Options::table().verify(options, what);
  return options;
}

template <class Options>
class FunctionObjective : public Objective {
 public:
  using Function = ObjectiveResult (*)(const ObjectiveInput&, const Options&);
  FunctionObjective(std::string what, Options options, Function function)
      : what_(std::move(what)), options_(std::move(options)), function_(function) {}

  ObjectiveResult operator()(const ObjectiveInput& input) const override { return function_(input, options_); }
  Config config() const override { return Options::table().write(options_); }
  void set(const std::string& option, const Config& value) override {
    Options changed = options_;
    Options::table().assign(changed, option, value, what_);
    Options::table().verify(changed, what_);
    options_ = std::move(changed);
  }

 private:
  std::string what_;
  Options options_;
  Function function_;
};

// `entry` with name, aliases, summary and what the objective needs; options and factory are filled in.
template <class Options>
ObjectiveEntry with_options(ObjectiveEntry entry, typename FunctionObjective<Options>::Function function) {
  entry.options = Options::table().specs();
  const std::string what = "objective '" + entry.name + "'";
  entry.make = [what, function](const Config& term, const std::vector<std::string>& others) -> std::unique_ptr<Objective> {
    return std::make_unique<FunctionObjective<Options>>(what, Options::table().read(term, what, others), function);
  };
  return entry;
}

}  // namespace debias
