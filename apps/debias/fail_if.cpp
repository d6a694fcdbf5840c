#include "apps/debias/fail_if.h"

namespace debias {

CLI::Option* add_fail_if(CLI::App& verb, std::optional<Condition>& condition, const std::string& description) {
  return verb.add_option_function<std::string>(
      "--fail-if", [&condition](const std::string& text) { condition = parse_condition(text); }, description);
}

}  // namespace debias
