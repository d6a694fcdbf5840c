#include "debias/core/unfinished.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace debias {
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

}  // namespace debias
