// `debias --version`, -V and `debias version`, answered before the constructors of the shared libraries run: libtorch's take most of the
// time of a short command.
#pragma once

namespace debias {

// "debias 0.1.0", and in builds with its library a second line, "DICOM: DCMTK 3.6.7".
const char* version_line();

}  // namespace debias
