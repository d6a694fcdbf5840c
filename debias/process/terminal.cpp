#include "debias/process/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "debias/core/human_units.h"
#include "debias/core/printable.h"
#include "debias/process/stop_signals.h"

namespace debias {
namespace {

using Clock = std::chrono::steady_clock;

bool on_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

bool is_hushed = false;

class TerminalProgress : public Progress {
 public:
  void begin(const std::string& label, int64_t total) override {
    label_ = without_control_characters(label);
    total_ = total;
    first_ = -1;
    start_ = shown_ = Clock::now();
  }

  void advance(int64_t done, const std::string& note) override {
    const auto now = Clock::now();
    if (first_ < 0) first_ = done - 1;  // a resumed epoch starts in its middle
    const double interval = bar_ ? 0.1 : 5.0;
    if (std::chrono::duration<double>(now - shown_).count() < interval && !(bar_ && done == total_)) return;
    shown_ = now;
    const double passed = std::chrono::duration<double>(now - start_).count();
    const double left = done > first_ ? passed / static_cast<double>(done - first_) * static_cast<double>(total_ - done) : 0;
    std::string text = fmt::format("{} {}/{}", label_, done, total_);
    if (bar_) text = fmt::format("{} {}", label_, bar(done));
    text += fmt::format(" {}, {} left", clock_text(passed), clock_text(left));
    if (!note.empty()) text += ", " + note;
    if (bar_) {
      write_message(fmt::format("\r{:<{}.{}}", text, columns(), columns()));
      open_ = true;
    } else {
      write_message(text + "\n");
    }
  }

  void end() override { clear(); }

  void clear() {
    if (open_) write_message(fmt::format("\r{:<{}}\r", "", columns()));
    open_ = false;
  }

  static TerminalProgress& instance() {
    static TerminalProgress progress;
    return progress;
  }

 private:
  static size_t columns() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col - 1u : 79u;
  }

  std::string bar(int64_t done) const {
    constexpr int64_t kWidth = 16;
    const int64_t filled = total_ > 0 ? kWidth * done / total_ : 0;
    return fmt::format("[{:#<{}}{:.<{}}] {:3d}%", "", filled, "", kWidth - filled, total_ > 0 ? 100 * done / total_ : 0);
  }

  bool bar_ = on_terminal();
  bool open_ = false;
  std::string label_;
  int64_t total_ = 0;
  int64_t first_ = -1;
  Clock::time_point start_, shown_;
};

// Without a bar in front of the sentence that ends the command.
void obey_interruption() {
  try {
    throw_if_interrupted();
  } catch (const Interruption&) {
    TerminalProgress::instance().clear();
    throw;
  }
}

class SharedProgress : public Progress {  // every sink of the process draws the same line
 public:
  void begin(const std::string& label, int64_t total) override {
    obey_interruption();
    if (!is_hushed) TerminalProgress::instance().begin(label, total);
  }
  void advance(int64_t done, const std::string& note) override {
    obey_interruption();
    if (!is_hushed) TerminalProgress::instance().advance(done, note);
  }
  void end() override { TerminalProgress::instance().end(); }
};

class TerminalLog : public Log {
 public:
  void info(const std::string& line) override {
    if (!is_hushed) print("", line);
  }
  void warn(const std::string& line) override { print(colour_ ? "\033[33mwarning:\033[0m " : "warning: ", line); }

 private:
  static void print(const char* prefix, const std::string& line) {
    TerminalProgress::instance().clear();
    write_message(fmt::format("{}{}\n", prefix, without_control_characters(line)));
  }
  bool colour_ = on_terminal() && std::getenv("NO_COLOR") == nullptr;
};

}  // namespace

std::unique_ptr<Progress> terminal_progress() { return std::make_unique<SharedProgress>(); }
std::unique_ptr<Log> terminal_log() { return std::make_unique<TerminalLog>(); }
void hush_terminal() { is_hushed = true; }

void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number is this one. Open for reading alone, so that a result that is written there does not pass for written.
    if (open("/dev/null", O_RDONLY) != descriptor) std::_Exit(EXIT_FAILURE);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void write_message(std::string_view text) {
  const size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
  static_cast<void>(written);
  std::fflush(stderr);
}

int unwritten_results() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return 0;
  const bool passed = errno == 0 && write(STDOUT_FILENO, "\n", 1) == 1;  // an earlier write failed: does it still, and why?
  return passed ? EIO : errno;
}

bool is_launched() { return std::getenv(kLauncherVariable) != nullptr; }

int complaint_descriptor() {
  const char* given = std::getenv(kLauncherVariable);
  return given == nullptr ? STDERR_FILENO : std::atoi(given);
}

void write_complaint(const std::string& line) {
  const int descriptor = complaint_descriptor();
  if (descriptor == STDERR_FILENO) return write_message(line + "\n");
  static_cast<void>(!write(descriptor, (line + "\n").data(), line.size() + 1));
}

}  // namespace debias
