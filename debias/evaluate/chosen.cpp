#include "debias/evaluate/chosen.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/registry.h"
#include "debias/evaluate/protocol_registry.h"

namespace debias {
namespace {

// Tells an unknown option by the recipe's section, and under the name that the section has there.
void require_known_options(const std::string& name, const Config& section, const ProtocolEntry& entry) {
  std::vector<std::string> known;
  for (const auto& spec : entry.options) known.push_back(spec.name);
  for (const auto& [key, value] : section.entries()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    throw usage_error("{}evaluate: {}: unknown option '{}'{}", value.prefix(), name, key, suggestion(key, known));
  }
}

}  // namespace

ChosenProtocol ChosenProtocol::over(const ChosenProtocol& base) const {
  Config all = base.section;
  all.overlay(section);
  return read_protocol(*entry, all, name);
}

ChosenProtocol read_protocol(const ProtocolEntry& entry, const Config& section, const std::string& name) {
  return {&entry, name.empty() ? entry.name : name, section, entry.read(section)};
}

ChosenProtocol ChosenProtocols::of(const std::string& name) const {
  const ProtocolEntry& entry = find_entry(protocol_registry(), name, "protocol");
  const auto found = std::find_if(written.rbegin(), written.rend(), [&](const auto& protocol) { return protocol.entry == &entry; });
  return found == written.rend() ? read_protocol(entry, Config::map()) : *found;
}

Config ChosenProtocols::section() const {
  Config sections = Config::map();
  for (const auto& protocol : written) sections.set(protocol.name, protocol.section);
  return sections;
}

ChosenProtocols read_protocols(SampleKind samples, const std::vector<std::string>& requested, const Config& sections) {
  for (const auto& name : requested) protocol_for(samples, name, "evaluate: ");
  ChosenProtocols protocols;
  for (const auto& [name, section] : sections.entries()) {
    const ProtocolEntry& entry = protocol_for(samples, name, section.prefix());
    require_known_options(name, section, entry);
    protocols.written.push_back(read_protocol(entry, section, name));
  }
  return protocols;
}

}  // namespace debias
