// Files that look like images but are not read: of other formats by the ending of their names, or images without an ending. A folder of
// photographs that loses some of them in silence would give other numbers than its owner believes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace debias {

class UnreadImages {
 public:
  void add_if_image(const std::string& path);  // which has no ending of an image that is read

  bool empty() const { return by_ending_.empty(); }

  // "folder R: 12 files look like images but are not read (.heic 10, .gif 2; first: a/b.heic)". The most frequent ending comes first; the
  // file is the first by name, relative to `folder`.
  std::string remark(const std::string& folder) const;

  // "; 12 files are not read (.heic 10, .gif 2); JPEG, ... are", to end a message that there are no images; empty if there are none.
  std::string after_refusal() const;

 private:
  std::string counts() const;

  std::map<std::string, int64_t> by_ending_;
  int64_t count_ = 0;
  bool has_dicom_ = false;  // in a build that does not read it
  std::string first_;
};

}  // namespace debias
