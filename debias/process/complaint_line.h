// Destination of error messages: standard error, or the launcher that started this process as one of several ranks
// (runs/rank_launcher.h), which prints the first of what they say.
#pragma once

#include <string>

namespace debias {

// The environment variable in which a launcher passes the descriptor to its ranks.
inline constexpr const char* kLauncherVariable = "DEBIAS_LAUNCHER";

// True if a launcher started this process.
bool is_launched();

// The descriptor that error messages are written to.
int complaint_descriptor();

// Writes the line as it is, with a line end. A failed write is ignored.
void write_complaint(const std::string& line);

}  // namespace debias
