#include "debias/control/pixel_environment.h"

#include <algorithm>
#include <cstring>

#include "debias/control/task.h"

namespace debias {

struct PixelEnvironment::State {
  explicit State(const EnvironmentOptions& given)
      : options(given), model(make_model(*given.task)), renderer(model, given.pixels, given.look) {
    seen.resize(static_cast<size_t>(given.stack * frame_bytes()));
  }

  int64_t frame_bytes() const { return 3 * options.pixels * options.pixels; }
  uint8_t* newest() { return seen.data() + (options.stack - 1) * frame_bytes(); }

  EnvironmentOptions options;
  MujocoModel model;
  FrameRenderer renderer;
  std::vector<uint8_t> seen;
  int64_t done = 0;  // control steps of the episode
};

PixelEnvironment::PixelEnvironment(const EnvironmentOptions& options) : state_(std::make_unique<State>(options)) {}
PixelEnvironment::~PixelEnvironment() = default;
PixelEnvironment::PixelEnvironment(PixelEnvironment&&) noexcept = default;

int64_t PixelEnvironment::action_count() const { return state_->model.model().nu; }

int64_t PixelEnvironment::steps_per_episode() const { return (kControlSteps + state_->options.repeat - 1) / state_->options.repeat; }

void PixelEnvironment::begin(int64_t episode) {
  State& s = *state_;
  Random draws({.domain = RngDomain::kEnvironment,
                .seed = s.options.seed,
                .epoch = static_cast<uint64_t>(episode),
                .view = static_cast<uint16_t>(s.options.episodes)});
  begin_episode(*s.options.task, s.model, draws);
  s.done = 0;
  s.renderer.draw(s.newest());
  for (int64_t i = 0; i + 1 < s.options.stack; ++i) std::memcpy(s.seen.data() + i * s.frame_bytes(), s.newest(), s.frame_bytes());
}

EnvironmentStep PixelEnvironment::step(std::span<const float> action) {
  State& s = *state_;
  EnvironmentStep result;
  for (size_t i = 0; i < action.size(); ++i) s.model.data().ctrl[i] = std::clamp<double>(action[i], -1, 1);
  while (result.control_steps < s.options.repeat && s.done < kControlSteps) {
    s.model.step(s.options.task->substeps);
    if (s.model.diverged()) {
      result.diverged = true;
      return result;
    }
    result.reward += s.options.task->reward(s.model);
    ++result.control_steps;
    ++s.done;
  }
  result.is_last = s.done == kControlSteps;
  std::memmove(s.seen.data(), s.seen.data() + s.frame_bytes(), static_cast<size_t>((s.options.stack - 1) * s.frame_bytes()));
  s.renderer.draw(s.newest());
  return result;
}

std::span<const uint8_t> PixelEnvironment::frame() const { return {state_->newest(), static_cast<size_t>(state_->frame_bytes())}; }

const std::vector<uint8_t>& PixelEnvironment::observation() const { return state_->seen; }

MujocoModel& PixelEnvironment::model() { return state_->model; }

}  // namespace debias
