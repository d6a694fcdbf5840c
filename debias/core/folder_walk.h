// Lists the files of a folder and of those below it, links followed: the books of a corpus, the images of a data set.
//
// Names that begin with a dot are ignored, those of folders and of files.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

namespace debias {

struct FolderFile {  // whatever is not a folder
  std::string name;
  std::filesystem::file_type type = std::filesystem::file_type::none;  // of what a link leads to
  bool is_link = false;
  std::error_code failure;  // why it cannot be read, such as a dangling link
};

struct FolderContent {
  std::string path;                  // of the folder; links in it stay
  std::string prefix;                // of the names in it, from where the walk began: "", "novels/"
  std::vector<FolderFile> files;     // in no order
  std::vector<std::string> folders;  // names, those of links to folders too, in byte-wise order
  std::error_code failure;           // why it cannot be listed, or not to its end; the caller decides
};

// `passed_over`: one more name.
FolderContent read_folder(const std::string& path, const std::string& passed_over = "");

struct FolderWalk {
  std::string folder;            // where the walk begins
  std::string root;              // this folder, or one that holds it
  std::string passed_over = "";  // one more name
};

// Visits the folder, then the folders in it by their names, each before what it holds. Links are followed, but no folder is entered twice,
// nor the root, one above it or one between it and the folder: loops of links end, and lead into no folder beside the one of the walk.
void walk_folders(const FolderWalk& walk, const std::function<void(const FolderContent&)>& visit);

}  // namespace debias
