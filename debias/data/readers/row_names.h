// Rows of a table and the samples that they name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace debias {

// A name in a CSV, and its line in the file, from 1.
struct RowName {
  std::string name;
  int64_t line = 0;
};

// "a/b.png" of "./a//b.png" and "x/../a/b.png".
std::string normal_path(const std::string& path);

// Samples by name.
class SampleNames {
 public:
  explicit SampleNames(std::vector<std::string> names);

  // The sample of this name; nullopt without one. A name that is not UTF-8 may be written as by in_utf8 (printable.h).
  std::optional<int64_t> find(const std::string& name) const;

  int64_t size() const { return std::ssize(names_); }
  const std::string& name(int64_t place) const { return names_[static_cast<size_t>(place)]; }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, int64_t> places_;
};

}  // namespace debias
