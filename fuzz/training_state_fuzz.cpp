// What a checkpoint says of its run: three lines of JSON, the training state, the names of classes and the fingerprints of the data.
#include "debias/train/state/training_state.h"

#include <cmath>
#include <string_view>

#include "fuzz/fuzz_target.h"

namespace {

using namespace debias;

std::string take_line(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  const std::string line(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

Metadata metadata_of(std::string_view text) {
  Metadata metadata = {{"debias.recipe", "name: a\n"}};
  metadata["debias.state"] = take_line(text);
  for (const char* key : {"debias.classes", "debias.data"}) {
    if (!text.empty()) metadata[key] = take_line(text);
  }
  return metadata;
}

void require_possible(const TrainingState& state) {
  for (const int64_t count :
       {state.epoch, state.batch, state.step, state.metrics.bytes, state.substituted, state.best_epoch, state.threads}) {
    fuzz::require(count >= 0 && count <= int64_t{1} << 53, "a count is one");
  }
  for (const auto& [name, value] : state.diagnostics.metrics(std::vector<std::string>(state.diagnostics.terms.size(), "term"))) {
    fuzz::require(!name.empty() && !std::isnan(value), "a metric of finite numbers is a number");
  }
  Diagnostics twice = state.diagnostics;
  twice.add(state.diagnostics);
}

// Through what is written of it, as the next checkpoint of a resumed run would have it.
void require_round_trip(const StoredState& stored) {
  const auto metadata = [](const StoredState& read) {
    return stored_metadata(read.state, {parse_yaml(read.recipe_yaml, ""), read.names.value_or(NameTable()), read.data});
  };
  const Metadata written = metadata(stored);
  fuzz::require(metadata(read_stored_state(written)) == written, "a state that was read is written and read back");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    const StoredState stored = read_stored_state(metadata_of({reinterpret_cast<const char*>(data), size}));
    require_possible(stored.state);
    require_round_trip(stored);
  });
  return 0;
}
