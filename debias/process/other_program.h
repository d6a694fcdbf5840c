// Another program, started, fed and waited for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace debias {

struct ProgramEnd {
  int not_started = 0;     // the error number where it could not be started: nothing else is known then
  int exit = 0;            // 128 + the number of a signal that ended it
  bool took_input = true;  // all of it
  std::string said;        // on standard output and standard error
};

// words[0] is looked for on PATH. `input` is what it reads from standard input, piece after piece; it may end without reading that, so SIGPIPE
// has to be ignored (standard_streams.h). A resource error where no pipe can be had.
ProgramEnd run_program(std::vector<std::string> words, const std::vector<std::span<const uint8_t>>& input = {});

}  // namespace debias
