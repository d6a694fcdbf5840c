#include "debias/control/frame_renderer.h"

#include <algorithm>
#include <vector>

#include "debias/control/mujoco_model.h"
#include "debias/core/error.h"

namespace debias {
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

}  // namespace debias
