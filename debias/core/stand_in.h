// What a file holds in the place of the one that was meant: a download that failed, or a checkout without its large files.
#pragma once

#include <string_view>

#include "debias/core/input_file.h"

namespace debias {

// By the first bytes: a pointer of Git LFS, a page of HTML, XML or JSON of a failed download, a zip archive, gzip, PDF. Nothing of others.
ForeignFile stand_in(std::string_view start);

// FileError "is a pointer of Git LFS, not NAME; git lfs pull fetches the file" for one of these.
void refuse_stand_in(const std::string& path, std::string_view start, const char* name);

}  // namespace debias
