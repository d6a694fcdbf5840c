#include "debias/control/egl_context.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <fmt/format.h>

#include <array>
#include <vector>

#include "debias/core/error.h"

namespace debias {
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
