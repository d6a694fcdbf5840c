// A copy of options with some of them changed: with_changes(options, [](auto& o) { o.temperature = 0.1; }).
#pragma once

namespace debias {

template <class Options, class Change>
Options with_changes(Options options, const Change& change) {
  change(options);
  return options;
}

}  // namespace debias
