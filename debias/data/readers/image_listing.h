// The image files and folders below a folder, in byte-wise order of their paths.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace debias {

// Files that look like images but are not read: of other formats by the ending of their names, or images without an ending. A folder of
// photographs that loses some of them in silence would give other numbers than its owner believes.
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

// Names of the folders directly in `folder`, links to folders included. Names that begin with a dot, and folders of storage systems
// and the like (@eaDir, #recycle, lost+found, __MACOSX, ...), are ignored here and below.
std::vector<std::string> list_folders(const std::string& folder);

// Paths, relative to `folder`, of the files with the ending of an image (image_decode.h) in it and below it; other files are ignored,
// those that look like images added to `unread` where it is given. Links are followed, but no folder is entered twice, nor one between
// `root` (which holds `folder`) and `folder`, nor `root` or a folder above it: loops of links end. A link to nothing is listed, so that
// reading it reports it. FileError when a folder cannot be read.
std::vector<std::string> list_images(const std::string& folder, const std::string& root, UnreadImages* unread = nullptr);

// Lists the images directly in `folder`.
std::vector<std::string> list_images_directly_in(const std::string& folder, UnreadImages* unread = nullptr);

// Paths, relative to `root`, of the files in it and below it that look like images by their names but are of kinds that are not read. Links
// are followed as above.
std::vector<std::string> list_unread_images(const std::string& root);

// Counts hidden and system folders with images in them, and hidden images, in `folder` and below it: one line, or nothing.
std::string remark_on_passed_over(const std::string& folder, const std::string& root);

}  // namespace debias
