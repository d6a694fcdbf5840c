// Images of frost that the corruption `frost` lays over an image.
#pragma once

#include <string>
#include <vector>

#include "debias/core/philox.h"
#include "debias/data/builders/corruptions/plane.h"

namespace debias {

// At a fifth of the files' size, every side at least 33.
struct FrostTextures {
  std::vector<Planes> textures;
  bool procedural = false;
};

// frost1 ... frost5, .png, .jpg or .jpeg, as in hendrycks/robustness; a data error naming the folder or file where one is missing or too
// small (165 pixels). Every fifth pixel is taken, which is what bilinear resizing by 0.2 comes to in OpenCV.
FrostTextures read_frost_textures(const std::string& folder);

// Five synthetic textures, always the same: pale blue fractals, for use without the published files.
FrostTextures procedural_frost_textures();

// A square fractal of values in [0, 1], periodic; `side` a power of two. Noise falls by `decay` squared from one scale to the next.
// Source: make_cifar_c.py, plasma_fractal (the diamond-square algorithm).
Plane plasma(int side, double decay, Random& random);

}  // namespace debias
