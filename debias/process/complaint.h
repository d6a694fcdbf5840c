// Reports an error: one line on standard error, several for several mistakes in a recipe, and an exit code.
//
// 1 failure, 2 usage, 3 data, 4 numbers that are not finite, 5 memory, disk or threads, 75 stopped by a signal. Memory can also run out
// where no exception reaches main(): while the shared libraries start, or in a thread of theirs. The process then ends the same way.
#pragma once

#include <string>

namespace debias {

// Prints "debias: " and the first line of `text`; returns `code`. Throws nothing, whatever standard error is.
int complain(const std::string& text, int code);

// Call it in a handler: it reports the handled exception as an error.
int complain_of_exception();

}  // namespace debias
