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

#include "debias/core/enum_names.h"

namespace debias {

// Square RGB images of a model's state, from its camera 0. To be made and used in the thread that an EglContext is current in.
class MujocoModel;

// Detail drawn beside the bodies. `plain` leaves shadows and reflections out: other images, in half the time.
enum class Look { kFull, kPlain };
constexpr auto enum_words(Look) { return named("full", "plain"); }

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

// An OpenGL context without a window or display, for images that nobody looks at.
//
// It belongs to the thread that made it: whoever draws must do so there.
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
