// Progress display of the command: a bar on a terminal, one plain line every few seconds otherwise; logs as lines. All on
// standard error. NO_COLOR and TERM=dumb are respected. Reports of progress throw Interruption once Ctrl-C was pressed (interruption.h).
#pragma once

#include <memory>

#include "debias/core/progress.h"

namespace debias {

std::unique_ptr<Progress> terminal_progress();
std::unique_ptr<Log> terminal_log();

// From now on prints warnings only, without progress and notes.
void hush_terminal();

}  // namespace debias
