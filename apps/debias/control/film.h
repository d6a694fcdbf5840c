// A film of an episode, as a GIF.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/control/frame_renderer.h"
#include "debias/image/image.h"

namespace debias {

// A usage error unless the name ends in .gif.
void require_film_name(const std::string& path);

class Film {
 public:
  explicit Film(Look look) : look_(look) {}

  // The picture of a state, larger than an agent's. To be called in the thread that draws, as is end_of_drawing().
  void take(MujocoModel& model);
  void end_of_drawing() { renderer_.reset(); }

  void write(const std::string& path) const;  // in real time

 private:
  Look look_;
  std::optional<FrameRenderer> renderer_;
  double seconds_ = 0;  // between two pictures
  std::vector<Image> pictures_;
};

}  // namespace debias
