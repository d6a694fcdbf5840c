// Paths: what they resolve to, where results may be written, and what is in a folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// Resolves links of paths, tests if two paths are one file, and if one is in a folder, whatever they are called.

// `path`, absolute and without links, dots and a last slash. If the path does not exist, the links in its existing part are followed.
std::string real_path(const std::string& path);

// True if `path` is the folder or is in it, by whatever links. Neither needs to exist.
bool lies_in(const std::string& path, const std::string& folder);

// The home folder in paths that no shell has seen.

// A path that begins with ~ where no shell has seen it (`output: ~/runs/a`, `--out=~/a.npy`): ~ and ~/ are the home folder. A usage error
// for ~USER, and where there is no $HOME.
std::string with_home(const std::string& path);

// Describes where a relative path of a message starts.

// " in /home/me/project" for a relative path, the current folder; "" for an absolute one.
std::string start_of(const std::string& path);

// Data folders are read and never written into, because written files would count as data the next time.

// Throws a usage error if `path` is inside one of the data folders, by whatever links; `what` says what would be written there.
// An empty path or folder is absent.
void refuse_inside_data(const std::string& path, const std::vector<std::string>& data_roots, const std::string& what = "output");

// The same of a run that is there already and is to be gone on with or evaluated: it has to be moved, since no other can be chosen.
void refuse_run_inside_data(const std::string& folder, const std::vector<std::string>& data_roots);

// Checks where results may be written.

// Usage errors, `what` in front: an output that is one of the inputs, by its path or as the same file under another, and one path for two
// outputs. Empty paths are absent.
void refuse_overwriting(const std::string& what, const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

// Throws a resource error if the folder of `path`, which is to be written, does not exist. An empty path is absent.
void require_folder_of(const std::string& path);

// Throws a usage error if one of the inputs is in the run folder that --overwrite empties.
void refuse_emptying(const std::string& folder, const std::vector<std::string>& inputs);

// The files that a section or a recipe reads: whatever it says, at any depth, that is the path of a file.
std::vector<std::string> files_named_in(const Config& section);

// Lists the files of a folder and of those below it, links followed: the books of a corpus, the images of a data set.
//
// Names that begin with a dot are ignored, those of folders and of files.
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
