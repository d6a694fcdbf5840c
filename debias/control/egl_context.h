// An OpenGL context without a window or display, for images that nobody looks at.
//
// It belongs to the thread that made it: whoever draws must do so there.
#pragma once

#include <string>

namespace debias {

class EglContext {
 public:
  // Current in the calling thread from here on. A failure, saying what to install, where no device of this machine can draw.
  EglContext();
  ~EglContext();
  EglContext(const EglContext&) = delete;
  EglContext& operator=(const EglContext&) = delete;

  // Renderer: "llvmpipe (LLVM 15.0.6, 256 bits), 4.5 (Compatibility Profile) Mesa 22.3.6". Image bytes are equal on one renderer only.
  std::string renderer() const;

 private:
  void* context_;
};

}  // namespace debias
