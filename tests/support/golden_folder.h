// Where tests/golden/NAME lies: an archive NAME.tar.gz is unpacked beside the folder of this program, all else is in the sources.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace debias {

// ccache may make __FILE__ relative to the build folder, which lies above this program; the working directory may be any.
inline std::string golden_folder(const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path here = fs::path(__FILE__).parent_path(), programs = fs::read_symlink("/proc/self/exe").parent_path();
  for (fs::path folder = programs; folder != folder.root_path(); folder = folder.parent_path()) {
    const fs::path candidate = folder / here / ".." / "golden" / name;
    if (fs::is_directory(candidate)) return candidate.lexically_normal().string();
  }
  const fs::path unpacked = programs / "../tests/golden" / name;
  if (fs::is_directory(unpacked)) return unpacked.lexically_normal().string();
  throw std::runtime_error("tests/golden/" + name + " is not found above " + here.string());
}

}  // namespace debias
