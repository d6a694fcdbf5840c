#include "debias/core/atomic_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "debias/core/input_file.h"

namespace debias {
namespace {

[[noreturn]] void cannot_write(const std::string& path, const char* action) {
  if (errno == EFBIG) throw file_too_large(path);
  throw resource_error("writing '{}': {} failed: {}; check the folder, its permissions and the disk", path, action, std::strerror(errno));
}

// A rename lives in the folder; until that is on disk too, a power cut can undo it.
void flush_folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const Descriptor opened(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.value() < 0) return;  // a folder may be writable and not readable: the file is whole all the same
  const bool flushed = fsync(opened.value()) == 0 || errno == EINVAL;  // EINVAL: this file system flushes no folders
  if (!flushed) cannot_write(path, "flushing its folder");
}

// Renaming over /dev/null or a pipe would replace it for everyone.
void refuse_what_is_no_file(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
    throw resource_error("writing '{}': it exists and is not a regular file; give another path", path);
  }
}

}  // namespace

AtomicFile::AtomicFile(std::string path, uint64_t bytes) : path_(std::move(path)), bytes_(bytes) {
  static std::atomic<uint64_t> count{0};
  refuse_what_is_no_file(path_);
  do {  // a name is taken where a killed process with the same number left its file
    temporary_ = fmt::format("{}.tmp-{}-{}", path_, getpid(), count++);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail("opening");
  }
  unfinished_ = Unfinished(temporary_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* action) const {
  if (!means_full_disk(errno)) cannot_write(path_, action);
  const int reason = errno;
  struct stat about {};
  const bool known = !temporary_.empty() && stat(temporary_.c_str(), &about) == 0;
  errno = reason;
  constexpr uint64_t kBlock = 512;  // of st_blocks, whatever the disk's own is
  throw DiskFull(path_, bytes_, known ? kBlock * static_cast<uint64_t>(about.st_blocks) : 0);
}

void AtomicFile::write(const void* data, size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  bytes_ = std::max(bytes_, written_ + bytes);
  while (bytes > 0) {
    const ssize_t count = ::write(descriptor_, from, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("writing");
    from += count;
    written_ += static_cast<uint64_t>(count);
    bytes -= static_cast<size_t>(count);
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0) fail("flushing");
  if (close(std::exchange(descriptor_, -1)) != 0) fail("closing");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("renaming");
  temporary_.clear();
  flush_folder_of(path_);
}

void write_file_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path, text.size());
  file.write(text.data(), text.size());
  file.commit();
}

void rename_durably(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) cannot_write(to, fmt::format("renaming '{}'", from).c_str());
  flush_folder_of(to);
}

namespace {

constexpr int kDepth = 8;  // of folders

enum class SlotState { kFree, kTaken, kHeld };  // kTaken: the path is being written

struct Slot {
  std::atomic<SlotState> state{SlotState::kFree};
  std::array<char, 4096> path{};
};
static_assert(std::atomic<SlotState>::is_always_lock_free);

std::array<Slot, 64> slots;

// As getdents64 fills it; glibc's readdir may take memory.
struct FolderEntry {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

void remove_at(int folder, const char* name, int depth) noexcept;

// True if an entry was removed; removing may hide entries from the same pass.
bool remove_entries(int folder, int depth) noexcept {
  bool any = false;
  alignas(FolderEntry) std::array<char, 2048> bytes{};
  lseek(folder, 0, SEEK_SET);
  for (long count = 0; (count = syscall(SYS_getdents64, folder, bytes.data(), bytes.size())) > 0;) {
    for (long at = 0; at < count;) {
      const auto* entry = reinterpret_cast<const FolderEntry*>(bytes.data() + at);
      const char* name = bytes.data() + at + offsetof(FolderEntry, name);
      at += entry->length;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      remove_at(folder, name, depth);
      any |= faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    }
  }
  return any;
}

void remove_at(int folder, const char* name, int depth) noexcept {
  if (unlinkat(folder, name, 0) == 0 || depth == 0) return;
  const int opened = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return;
  while (remove_entries(opened, depth - 1)) {
  }
  close(opened);
  unlinkat(folder, name, AT_REMOVEDIR);
}

}  // namespace

Unfinished::Unfinished(const std::string& path) {
  if (path.size() >= slots.front().path.size()) return;
  for (size_t i = 0; i < slots.size(); ++i) {
    SlotState free = SlotState::kFree;
    if (!slots[i].state.compare_exchange_strong(free, SlotState::kTaken)) continue;
    std::copy_n(path.c_str(), path.size() + 1, slots[i].path.begin());
    slots[i].state = SlotState::kHeld;
    slot_ = static_cast<int>(i);
    return;
  }
}

Unfinished::~Unfinished() {
  if (slot_ >= 0) slots[static_cast<size_t>(slot_)].state = SlotState::kFree;
}

void remove_unfinished() noexcept {
  for (Slot& slot : slots) {
    if (slot.state == SlotState::kHeld) remove_at(AT_FDCWD, slot.path.data(), kDepth);
  }
}

namespace {

std::optional<struct statvfs> file_system_of(const std::string& path) {
  struct statvfs about {};
  for (auto folder = std::filesystem::absolute(path).parent_path();; folder = folder.parent_path()) {
    if (statvfs(folder.c_str(), &about) == 0) return about;
    if (errno != ENOENT || !folder.has_relative_path()) return std::nullopt;
  }
}

std::string found(const std::string& path, uint64_t needed, uint64_t given_back) {
  const int reason = errno;
  const auto about = file_system_of(path);
  errno = reason;
  std::string text = fmt::format("{} bytes are needed", needed);
  if (!about) return text;
  text += fmt::format(", {} are free", uint64_t{about->f_bavail} * about->f_frsize + given_back);
  if (about->f_files > 0 && about->f_favail == 0) text += ", and it takes no further file";
  return text;
}

}  // namespace

DiskFull::DiskFull(const std::string& path, uint64_t needed, uint64_t given_back)
    : Error(ErrorKind::kResource,
            fmt::format("writing '{}': {}: {}; free space and try again (a run continues with --resume)", path,
                        errno == EDQUOT ? "the disk quota is used up" : "the disk is full", found(path, needed, given_back))),
      path_(path),
      needed_(needed) {}

Error file_too_large(const std::string& path) {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return resource_error("writing '{}': the file would be larger than {}; {} and try again (a run continues with --resume)", path,
                        is_limited ? fmt::format("this process may write (ulimit -f: {} bytes)", limit.rlim_cur) : "the file system takes",
                        is_limited ? "raise the limit" : "choose another disk");
}

bool means_full_disk(int reason) { return reason == ENOSPC || reason == EDQUOT; }

std::optional<uint64_t> free_bytes(const std::string& path) {
  const auto about = file_system_of(path);
  if (!about) return std::nullopt;
  return uint64_t{about->f_bavail} * about->f_frsize;
}

}  // namespace debias
