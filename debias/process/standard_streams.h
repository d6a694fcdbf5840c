// Standard input, output and error, whatever the process was started with: full, closed, or pipes that nobody reads.
//
// A message that cannot be written is dropped and ends nothing. A result that cannot be written is a failure, which unwritten_results()
// reports at the end of every command; fmt::print to standard output may throw before that, a bare std::system_error. A pipe whose
// reader has closed it (`debias list objectives | head -1`) is not a failure.
#pragma once

#include <string_view>

namespace debias {

// First of all in main(). Closed descriptors among 0 to 2 are taken, so that no file of ours gets such a number and messages into it;
// what is written to them fails. A pipe that nobody reads, and a file beyond the limit of its size (ulimit -f),
// are errors to whoever writes, no signals.
void open_standard_streams();

// To standard error.
void write_message(std::string_view text);

// Flushes standard output. The error number with which something that was printed there was lost; 0 when all is out.
int unwritten_results();

}  // namespace debias
