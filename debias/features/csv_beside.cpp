#include "debias/features/csv_beside.h"

#include <filesystem>

namespace debias {

std::string csv_beside(const std::string& vectors) {
  const std::string stem = std::filesystem::path(vectors).replace_extension().string();
  for (const char* ending : {kNamesEnding, ".csv"}) {
    if (std::filesystem::is_regular_file(stem + ending)) return stem + ending;
  }
  return "";
}

}  // namespace debias
