// Progress display of the command: a bar on a terminal, one plain line every few seconds otherwise; logs as lines. All on
// standard error. NO_COLOR and TERM=dumb are respected. Reports of progress throw Interruption once Ctrl-C was pressed (stop_signals.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "debias/core/progress.h"

namespace debias {

std::unique_ptr<Progress> terminal_progress();
std::unique_ptr<Log> terminal_log();

// From now on prints warnings only, without progress and notes.
void hush_terminal();

// Standard input, output and error, whatever the process was started with: full, closed, or pipes that nobody reads.
//
// A message that cannot be written is dropped and ends nothing. A result that cannot be written is a failure, which unwritten_results()
// reports at the end of every command; fmt::print to standard output may throw before that, a bare std::system_error. A pipe whose
// reader has closed it (`debias list objectives | head -1`) is not a failure.

// First of all in main(). Closed descriptors among 0 to 2 are taken, so that no file of ours gets such a number and messages into it;
// what is written to them fails. A pipe that nobody reads, and a file beyond the limit of its size (ulimit -f),
// are errors to whoever writes, no signals.
void open_standard_streams();

// To standard error.
void write_message(std::string_view text);

// Flushes standard output. The error number with which something that was printed there was lost; 0 when all is out.
int unwritten_results();

// Destination of error messages: standard error, or the launcher that started this process as one of several ranks
// (runs/rank_launcher.h), which prints the first of what they say.

// The environment variable in which a launcher passes the descriptor to its ranks.
inline constexpr const char* kLauncherVariable = "DEBIAS_LAUNCHER";

// True if a launcher started this process.
bool is_launched();

// The descriptor that error messages are written to.
int complaint_descriptor();

// Writes the line as it is, with a line end. A failed write is ignored.
void write_complaint(const std::string& line);

}  // namespace debias
