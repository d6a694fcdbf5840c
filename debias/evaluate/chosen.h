// Protocols as a recipe or a command chooses them: their options are read and checked, and what is left is to run them.
#pragma once

#include <any>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/data/sample_kind.h"

namespace debias {

struct ProtocolEntry;

struct ChosenProtocol {
  const ProtocolEntry* entry = nullptr;
  std::string name = {};           // as written: the registered one, or an alias
  Config section = Config::map();  // the options that are given; reads as the same
  std::any options = {};           // all of them, of the entry's own type

  template <class Options>
  const Options& as() const {
    return std::any_cast<const Options&>(options);
  }
  ChosenProtocol over(const ChosenProtocol& base) const;  // its options laid over those of `base`
};
// Usage errors of the options. `name`: as written; empty for the registered one.
ChosenProtocol read_protocol(const ProtocolEntry& entry, const Config& section, const std::string& name = "");

struct ChosenProtocols {
  std::vector<ChosenProtocol> written = {};  // in this order; of several of one protocol the last counts

  ChosenProtocol of(const std::string& name) const;  // registered, or an alias; with its defaults unless it is written
  Config section() const;                            // options by name, as written; reads as the same
};

// Of a recipe's `evaluate:`: `requested` are the names of `protocols`, `sections` the options by name. Usage errors: an unknown name or
// option, and a protocol that does not read such samples.
ChosenProtocols read_protocols(SampleKind samples, const std::vector<std::string>& requested, const Config& sections);

}  // namespace debias
