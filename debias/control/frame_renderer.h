// Square RGB images of a model's state, from its camera 0. To be made and used in the thread that an EglContext is current in.
#pragma once

#include <cstdint>
#include <memory>

#include "debias/core/options.h"

namespace debias {

class MujocoModel;

// Detail drawn beside the bodies. `plain` leaves shadows and reflections out: other images, in half the time.
enum class Look { kFull, kPlain };
template <>
struct EnumNames<Look> {
  static constexpr std::array<std::pair<std::string_view, Look>, 2> values = {{{"full", Look::kFull}, {"plain", Look::kPlain}}};
};

class FrameRenderer {
 public:
  FrameRenderer(MujocoModel& model, int64_t pixels, Look look);  // `model` must outlive it
  ~FrameRenderer();
  FrameRenderer(FrameRenderer&&) noexcept;

  int64_t pixels() const { return pixels_; }
  void draw(uint8_t* frame);  // [3, pixels, pixels], rows from the top

 private:
  struct Scene;
  int64_t pixels_;
  std::unique_ptr<Scene> scene_;
};

}  // namespace debias
