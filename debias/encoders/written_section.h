// The section of an encoder or a head, from its options.
#pragma once

#include <string>

#include "debias/core/config.h"

namespace debias {

// `name` and every option written out; reads as the same.
template <class Options>
Config written_section(const std::string& name, const Options& options) {
  Config section = Config::map({{"name", Config::string(name)}});
  section.overlay(Options::table().write(options));
  return section;
}

}  // namespace debias
