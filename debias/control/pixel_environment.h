// A control task as an agent has it: actions in, images and rewards out.
//
// An agent's step is one action for `repeat` control steps, whose rewards are added; only the last state is drawn. An agent
// sees the last `stack` images; an episode's first also fills the places before it. Episodes end by time, never by a state. An episode is
// a function of (seed, purpose, episode) and the actions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "debias/control/frame_renderer.h"

namespace debias {

struct Task;

enum class Episodes : uint16_t { kTraining = 0, kEvaluated = 1 };  // which draw different first states

struct EnvironmentOptions {
  const Task* task = nullptr;
  int64_t repeat = 4;
  int64_t pixels = 100;
  int64_t stack = 3;
  Look look = Look::kFull;
  uint64_t seed = 1;
  Episodes episodes = Episodes::kTraining;
};

struct EnvironmentStep {
  double reward = 0;
  int64_t control_steps = 0;
  bool is_last = false;   // the episode's time is over
  bool diverged = false;  // the simulation came to no finite state: the step is void, and so is the rest of the episode
};

// To be used in the thread that made it, which has an EglContext.
class PixelEnvironment {
 public:
  explicit PixelEnvironment(const EnvironmentOptions& options);
  ~PixelEnvironment();
  PixelEnvironment(PixelEnvironment&&) noexcept;

  int64_t action_count() const;
  int64_t steps_per_episode() const;  // of the agent

  void begin(int64_t episode);
  EnvironmentStep step(std::span<const float> action);  // numbers beyond [-1, 1] count as these

  std::span<const uint8_t> frame() const;           // [3, pixels, pixels], the newest
  const std::vector<uint8_t>& observation() const;  // [3 * stack, pixels, pixels], oldest first
  MujocoModel& model();                             // to draw a video of

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace debias
