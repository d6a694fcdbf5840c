#include "debias/control/pixel_environment.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "debias/control/task.h"
#include "debias/core/error.h"

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

namespace {

constexpr int kMostGeoms = 1000;

}  // namespace

struct FrameRenderer::Scene {
  Scene(MujocoModel& of, int64_t pixels, Look look) : model(of), size(static_cast<int>(pixels)) {
    model.model().vis.global.offwidth = model.model().vis.global.offheight = size;  // no more than is read: the same pixels, sooner
    mjv_defaultOption(&option);
    option.flags[mjVIS_RANGEFINDER] = 0;
    mjv_defaultCamera(&camera);
    camera.type = mjCAMERA_FIXED;
    camera.fixedcamid = 0;
    mjv_defaultPerturb(&perturb);
    mjv_defaultScene(&scene);
    mjv_makeScene(&model.model(), &scene, kMostGeoms);
    if (look == Look::kPlain) scene.flags[mjRND_SHADOW] = scene.flags[mjRND_REFLECTION] = 0;
    mjr_defaultContext(&context);
    mjr_makeContext(&model.model(), &context, mjFONTSCALE_150);
    packed.resize(static_cast<size_t>(3) * size * size);
  }
  ~Scene() {
    mjr_freeContext(&context);
    mjv_freeScene(&scene);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  MujocoModel& model;
  int size;
  mjvOption option;
  mjvCamera camera;
  mjvPerturb perturb;
  mjvScene scene;
  mjrContext context;
  std::vector<uint8_t> packed;  // RGB, rows from the bottom
};

FrameRenderer::FrameRenderer(MujocoModel& model, int64_t pixels, Look look)
    : pixels_(pixels), scene_(std::make_unique<Scene>(model, pixels, look)) {}
FrameRenderer::~FrameRenderer() = default;
FrameRenderer::FrameRenderer(FrameRenderer&&) noexcept = default;

void FrameRenderer::draw(uint8_t* frame) {
  Scene& s = *scene_;
  const mjrRect viewport = {0, 0, s.size, s.size};
  mjr_setBuffer(mjFB_OFFSCREEN, &s.context);
  if (s.context.currentBuffer != mjFB_OFFSCREEN) {
    throw Error(ErrorKind::kFailure,
                "drawing: OpenGL gives no buffer beside the screen; install Mesa's OpenGL (package libgl1-mesa-dri; in a checkout: "
                "scripts/bootstrap.sh --rl)");
  }
  mjv_updateScene(&s.model.model(), &s.model.data(), &s.option, &s.perturb, &s.camera, mjCAT_ALL, &s.scene);
  mjr_render(viewport, &s.scene, &s.context);
  mjr_readPixels(s.packed.data(), nullptr, viewport, &s.context);
  const int64_t n = pixels_;
  for (int64_t y = 0; y < n; ++y) {
    const uint8_t* row = s.packed.data() + 3 * n * (n - 1 - y);
    for (int64_t x = 0; x < n; ++x) {
      for (int64_t c = 0; c < 3; ++c) frame[(c * n + y) * n + x] = row[3 * x + c];
    }
  }
}

namespace {

constexpr unsigned kGlRenderer = 0x1F01, kGlVersion = 0x1F02;

Error cannot_draw(const char* what) {
  return Error(ErrorKind::kFailure,
               fmt::format("drawing without a display: {} (EGL error {:#x}); install Mesa's EGL (packages libegl1, libegl-mesa0 and "
                           "libgl1-mesa-dri; in a checkout: scripts/bootstrap.sh --rl)",
                           what, eglGetError()));
}

template <class Function>
Function extension(const char* name) {
  return reinterpret_cast<Function>(eglGetProcAddress(name));
}

// The first device that starts, graphics cards ahead of Mesa's own processor code; else Mesa without any device.
EGLDisplay started_display() {
  const auto query = extension<PFNEGLQUERYDEVICESEXTPROC>("eglQueryDevicesEXT");
  const auto display_of = extension<PFNEGLGETPLATFORMDISPLAYEXTPROC>("eglGetPlatformDisplayEXT");
  if (display_of == nullptr) throw cannot_draw("this EGL has no platforms");
  std::array<EGLDeviceEXT, 32> devices{};
  EGLint count = 0;
  if (query == nullptr || !query(devices.size(), devices.data(), &count)) count = 0;
  for (EGLint i = 0; i <= count; ++i) {
    const EGLDisplay display = i < count ? display_of(EGL_PLATFORM_DEVICE_EXT, devices[static_cast<size_t>(i)], nullptr)
                                         : display_of(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
    if (display != EGL_NO_DISPLAY && eglInitialize(display, nullptr, nullptr)) return display;
  }
  throw cannot_draw("no device of this machine takes part");
}

// One for the process, never ended: other contexts may still use it.
EGLDisplay shared_display() {
  static const EGLDisplay display = started_display();
  return display;
}

EGLConfig chosen_config(EGLDisplay display) {
  constexpr std::array<EGLint, 17> kWanted = {EGL_RED_SIZE,
                                              8,
                                              EGL_GREEN_SIZE,
                                              8,
                                              EGL_BLUE_SIZE,
                                              8,
                                              EGL_ALPHA_SIZE,
                                              8,
                                              EGL_DEPTH_SIZE,
                                              24,
                                              EGL_STENCIL_SIZE,
                                              8,
                                              EGL_SURFACE_TYPE,
                                              EGL_PBUFFER_BIT,
                                              EGL_RENDERABLE_TYPE,
                                              EGL_OPENGL_BIT,
                                              EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  if (!eglChooseConfig(display, kWanted.data(), &config, 1, &count) || count == 0) throw cannot_draw("no framebuffer format fits");
  return config;
}

}  // namespace

EglContext::EglContext() {
  const EGLDisplay display = shared_display();
  if (!eglBindAPI(EGL_OPENGL_API)) throw cannot_draw("desktop OpenGL is not there");
  context_ = eglCreateContext(display, chosen_config(display), EGL_NO_CONTEXT, nullptr);
  if (context_ == EGL_NO_CONTEXT) throw cannot_draw("no context");
  if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context_)) throw cannot_draw("the context cannot be used");
}

EglContext::~EglContext() {
  eglMakeCurrent(shared_display(), EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(shared_display(), context_);
}

std::string EglContext::renderer() const {
  const auto text = extension<const unsigned char* (*)(unsigned)>("glGetString");
  const auto word = [&](unsigned name) { return text == nullptr ? "?" : reinterpret_cast<const char*>(text(name)); };
  return fmt::format("{}, {}", word(kGlRenderer), word(kGlVersion));
}

}  // namespace debias
