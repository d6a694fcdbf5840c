#include "debias/process/complaint.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>

#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/process/stop_signals.h"
#include "debias/process/terminal.h"

namespace debias {
namespace {

constexpr int kFailure = 1, kNotFinite = 4, kOutOfResources = 5;

constexpr const char* kOutOfMemory =
    "out of memory; give it less at once (in training, lower batch_size or set train.micro_batch), or raise its limit (ulimit -v)";

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kFailure:
      return kFailure;
    case ErrorKind::kUsage:
      return 2;
    case ErrorKind::kData:
      return 3;
    case ErrorKind::kNumeric:
      return kNotFinite;
    case ErrorKind::kResource:
      return kOutOfResources;
    case ErrorKind::kInterrupted:
      return 75;
  }
  return kFailure;
}

// At once and without a text of its own: there may be no memory to make one of, nor to end in good order.
[[noreturn]] void end_without_memory() {
  constexpr std::string_view kLine =
      "debias: out of memory; give it less at once (in training, lower batch_size or set train.micro_batch), or raise its limit (ulimit "
      "-v)\n";
  static_cast<void>(!write(complaint_descriptor(), kLine.data(), kLine.size()));
  _exit(kOutOfResources);
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_of_memory(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords = {"not enough memory",      "out of memory", "can't allocate memory",
                                                      "Cannot allocate memory", "bad_alloc",     "could not allocate"};
  for (const auto words : kWords) {
    if (has(text, words)) return true;
  }
  return false;
}

int complain_of_system(const std::system_error& error) {
  const std::string text = error.what();
  if (error.code() == std::errc::not_enough_memory) end_without_memory();
  if (error.code() == std::errc::resource_unavailable_try_again) {
    return complain(
        "a thread cannot be started; lower train.threads and train.workers, or raise the limits of threads and memory (ulimit -u, "
        "ulimit -v): " +
            text,
        kOutOfResources);
  }
  if (std::ferror(stdout) != 0) return 0;  // main() says so, and has the exit code
  return complain(text, kFailure);
}

int complain_of_other(const std::string& text) {
  if (has(text, "CUDA out of memory")) {
    return complain("the GPU is out of memory; in training, lower batch_size or set train.micro_batch: " + text, kOutOfResources);
  }
  if (is_of_memory(text)) return complain(fmt::format("{}: {}", kOutOfMemory, text), kOutOfResources);
  if (has(text, "could not create a primitive")) {
    return complain(
        "the library of convolutions could not set itself up, most often for want of memory; raise its limit (ulimit -v) or lower "
        "batch_size: " +
            text,
        kOutOfResources);
  }
  if (has(text, "without overflow")) {
    return complain(
        "a number does not fit into 32 bits; look for a very large one among the options (learning rates, decays, weights): " + text,
        kNotFinite);
  }
  return complain("internal error: " + text, kFailure);
}

int complaint() {
  try {
    throw;
  } catch (const UsageErrors& several) {
    for (const auto& message : several.messages()) complain(message, exit_code(several.kind()));
    return exit_code(several.kind());
  } catch (const Interruption& interruption) {
    return complain(interruption.what(), interruption.exit());
  } catch (const Error& error) {
    return complain(error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (const std::filesystem::filesystem_error& error) {
    return complain(error.path1().string() + ": " + error.code().message() + "; check its permissions", kOutOfResources);
  } catch (const std::system_error& error) {
    return complain_of_system(error);
  } catch (const std::exception& error) {
    return complain_of_other(error.what());
  }
}

[[noreturn]] void end_uncaught() {
  if (std::current_exception() == nullptr) std::abort();
  _exit(complain_of_exception());
}

// A library that continues without the requested memory follows a null pointer, as oneDNN does where the code of a kernel found no
// room. Any other such fault is repeated on return, and ends the process as it would have.
void end_if_without_memory(int) {
  constexpr size_t kRoom = size_t{64} << 20;
  if (mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) end_without_memory();
}

void install_last_words() {
  std::set_terminate(end_uncaught);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  struct sigaction action {};
  action.sa_handler = end_if_without_memory;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGSEGV, &action, nullptr);
}

// Runs ahead of the constructors of shared libraries, which take memory, too.
__attribute__((section(".preinit_array"), used)) void (*at_first)() = install_last_words;

}  // namespace

int complain(const std::string& text, int code) {
  write_complaint("debias: " + without_control_characters(first_line(text)));
  return code;
}

int complain_of_exception() {
  try {
    return complaint();
  } catch (const std::bad_alloc&) {  // in the error report
    end_without_memory();
  }
}

}  // namespace debias
