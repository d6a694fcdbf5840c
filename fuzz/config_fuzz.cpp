// YAML, words of the command line, and `views:` sections. An input is the YAML, then, each after a zero byte, key=value words.
#include "debias/core/config.h"

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "fuzz/fuzz_target.h"

namespace {

using namespace debias;

std::string_view next_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find('\0'));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

void require_round_trip(const Config& config) {
  if (config.is_null()) return;  // an empty document
  fuzz::require(parse_yaml(config.to_yaml(), "copy") == config, "what is written is read back");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  fuzz::refused_only_as(ErrorKind::kUsage, [&] {
    Config config = parse_yaml(next_part(rest), "recipe.yaml");
    require_round_trip(config);
    while (!rest.empty()) config.assign(next_part(rest));
    require_round_trip(config);
    config_from_json(config.to_json());
    const Config* views = config.find("views");
    if (views != nullptr) read_views(*views).make({0.5}, {0.5});
  });
  return 0;
}
