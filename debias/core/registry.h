// Registries: each kind of thing (objectives, encoders, data sets, views, evaluators) is one table of entries.
//
// An entry type has `std::string name`, `std::vector<std::string> aliases`, `std::string summary` and
// `std::vector<OptionSpec> options`, plus its factory. Adding a thing = one file pair, one test, one line in its table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"

namespace debias {

// The entry called `name` (or one of whose aliases is); a usage error with the nearest name otherwise.
// `kind` is the word of the message ("objective"), `where` its prefix ("recipe.yaml:3: " or "").
template <class Entry>
const Entry& find_entry(const std::vector<Entry>& registry, std::string_view name, std::string_view kind, const std::string& where = "") {
  std::vector<std::string> known;
  for (const auto& entry : registry) {
    if (entry.name == name) return entry;
    for (const auto& alias : entry.aliases) {
      if (alias == name) return entry;
    }
    known.push_back(entry.name);
  }
  throw usage_error("{}unknown {} '{}'{}", where, kind, name, suggestion(name, known));
}

// The `name` of a section that is either a bare word or a map with a key `name`.
inline std::string section_name(const Config& section, std::string_view kind) {
  if (section.is_scalar()) return section.text();
  if (const Config* name = section.find("name")) {
    if (name->is_scalar()) return name->text();
  }
  throw usage_error("{}{}: no name is given; write `name: ...`", section.prefix(), kind);
}

// Where a section's name was written, as messages begin with it: a word of the command line may set the name alone.
inline std::string name_prefix(const Config& section) {
  const Config* name = section.find("name");
  return name ? name->prefix() : section.prefix();
}

// The entry that a section names.
template <class Entry>
const Entry& named_entry(const std::vector<Entry>& registry, const Config& section, std::string_view kind) {
  return find_entry(registry, section_name(section, kind), kind, name_prefix(section));
}

// The same, and the registry's first entry of an absent section.
template <class Entry>
const Entry& named_or_first(const std::vector<Entry>& registry, const Config& section, std::string_view kind) {
  return section.is_null() ? registry.front() : named_entry(registry, section, kind);
}

// The same section as a map (a bare word becomes {name: word}).
inline Config section_map(const Config& section) {
  if (!section.is_scalar()) return section;
  Config map = Config::map();
  map.set("name", section);
  map.set_where(section.where());
  return map;
}

}  // namespace debias
