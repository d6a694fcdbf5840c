// What a person sees while the command works: a bar on a terminal, one plain line every few seconds otherwise; logs as lines. All on
// standard error. NO_COLOR and TERM=dumb are respected.
#pragma once

#include <memory>

#include "debias/core/progress.h"

namespace debias {

std::unique_ptr<Progress> terminal_progress();
std::unique_ptr<Log> terminal_log();

}  // namespace debias
