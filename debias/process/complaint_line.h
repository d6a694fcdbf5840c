// Where a process says what went wrong: on standard error, or to the launcher that started it as one of several ranks
// (runs/rank_launcher.h), which prints the first of what they say.
#pragma once

#include <string>

namespace debias {

// The environment variable in which a launcher passes the descriptor to its ranks.
inline constexpr const char* kLauncherVariable = "DEBIAS_LAUNCHER";

// Whether a launcher started this process.
bool is_launched();

// The descriptor that complaints are written to.
int complaint_descriptor();

// Writes the line as it is, with a line end. What cannot be written is dropped.
void write_complaint(const std::string& line);

}  // namespace debias
