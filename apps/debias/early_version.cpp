#include "apps/debias/early_version.h"

#include <unistd.h>

#include <cstring>

namespace debias {
namespace {

#ifdef DEBIAS_DCMTK
constexpr char kVersionLine[] = "debias " DEBIAS_VERSION "\nDICOM: DCMTK " DEBIAS_DCMTK;
#else
constexpr char kVersionLine[] = "debias " DEBIAS_VERSION;
#endif

bool asks_for_version(const char* word) {
  for (const char* known : {"--version", "-V", "version"}) {
    if (std::strcmp(word, known) == 0) return true;
  }
  return false;
}

// A failed write is left to main(), which reports the cause.
void answer_version(int argc, char** argv, char**) {
  if (argc != 2 || !asks_for_version(argv[1])) return;
  char line[sizeof kVersionLine];
  std::memcpy(line, kVersionLine, sizeof line);
  line[sizeof line - 1] = '\n';
  if (write(STDOUT_FILENO, line, sizeof line) == static_cast<ssize_t>(sizeof line)) _exit(0);
}

void (*version_first)(int, char**, char**) __attribute__((section(".preinit_array"), used)) = answer_version;

}  // namespace

const char* version_line() { return kVersionLine; }

}  // namespace debias
