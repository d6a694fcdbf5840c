#include "debias/encoders/weight_layout.h"

#include <utility>

namespace debias {

WeightLayout layout_of_modules(const std::string& origin, std::function<std::string(const std::string& module)> module_of,
                               std::vector<std::string> ignored) {
  WeightLayout layout;
  layout.origin = origin;
  layout.key_of = [module_of = std::move(module_of)](const std::string& name) {
    const size_t dot = name.rfind('.');
    return dot == std::string::npos ? module_of(name) : module_of(name.substr(0, dot)) + name.substr(dot);
  };
  layout.ignored = std::move(ignored);
  return layout;
}

}  // namespace debias
