// The keys of a file of weights: one layout for each project that publishes weights of a network.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace debias {

using WeightShapes = std::map<std::string, std::vector<int64_t>>;  // of a file's tensors, by key

struct WeightLayout {
  std::string origin;  // "torchvision", "timm"
  // The file's key of one of the encoder's own names (named_state); empty: the names themselves.
  std::function<std::string(const std::string& name)> key_of = {};
  std::vector<std::string> ignored = {"fc."};  // prefixes of the file's keys that the encoder has no place for: classifiers
  std::string needs = {};                 // "origin: tensorflow": an option without which weights of this origin compute something else
  std::function<bool()> has_needed = {};  // whether the encoder has it; empty: nothing is needed

  std::string key(const std::string& name) const { return key_of ? key_of(name) : name; }
};

// Keys that follow from names of modules: `module_of` maps the name of a module that holds tensors ("features.0.0") to the file's.
WeightLayout layout_of_modules(const std::string& origin, std::function<std::string(const std::string& module)> module_of,
                               std::vector<std::string> ignored);

}  // namespace debias
