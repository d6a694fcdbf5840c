#include "debias/core/disk_full.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <filesystem>

namespace debias {
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
