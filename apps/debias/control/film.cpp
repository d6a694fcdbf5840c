#include "apps/debias/control/film.h"

#include <algorithm>

#include "debias/control/mujoco_model.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/image/gif_encode.h"

namespace debias {
namespace {

constexpr int kFilmPixels = 160;

}  // namespace

void require_film_name(const std::string& path) {
  if (!path.ends_with(".gif"))
    throw usage_error("rl play: --video '{}' does not end in .gif, which is what is written; give it such a name", path);
}

void Film::take(MujocoModel& model) {
  if (!renderer_) renderer_.emplace(model, kFilmPixels, look_);
  std::vector<uint8_t> planes(static_cast<size_t>(3 * kFilmPixels * kFilmPixels));
  renderer_->draw(planes.data());
  Image picture{.height = kFilmPixels, .width = kFilmPixels, .channels = 3, .pixels = std::vector<uint8_t>(planes.size())};
  constexpr int64_t kPlane = kFilmPixels * kFilmPixels;
  for (int64_t i = 0; i < kPlane; ++i) {
    for (int64_t c = 0; c < 3; ++c) picture.pixels[static_cast<size_t>(3 * i + c)] = planes[static_cast<size_t>(c * kPlane + i)];
  }
  pictures_.push_back(std::move(picture));
  seconds_ = model.data().time / std::max<double>(1, static_cast<double>(pictures_.size() - 1));
}

void Film::write(const std::string& path) const {
  const auto bytes = encode_gif(pictures_, static_cast<int64_t>(100 * seconds_ + 0.5));
  AtomicFile file(path, bytes.size());
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace debias
