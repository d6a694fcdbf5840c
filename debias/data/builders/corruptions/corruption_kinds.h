// The bodies of corruption.h's table. `level` is the severity less one, 0 to 4.
#pragma once

#include "debias/core/philox.h"
#include "debias/data/builders/corruptions/frost_textures.h"
#include "debias/data/builders/corruptions/plane.h"

namespace debias::corruptions {

Planes gaussian_noise(const Planes& image, int level, Random& random);
Planes shot_noise(const Planes& image, int level, Random& random);
Planes impulse_noise(const Planes& image, int level, Random& random);  // salt and pepper, each channel value for itself
Planes speckle_noise(const Planes& image, int level, Random& random);

Planes gaussian_blur(const Planes& image, int level);
Planes glass_blur(const Planes& image, int level, Random& random);
Planes defocus_blur(const Planes& image, int level);
Planes motion_blur(const Planes& image, int level, Random& random);
Planes zoom_blur(const Planes& image, int level);

Planes snow(const Planes& image, int level, Random& random);
Planes frost(const Planes& image, int level, Random& random, const FrostTextures& textures);
Planes fog(const Planes& image, int level, Random& random);
Planes spatter(const Planes& image, int level, Random& random);  // water at the lower three severities, mud at the upper two

Planes brightness(const Planes& image, int level);
Planes contrast(const Planes& image, int level);
Planes saturate(const Planes& image, int level);
Planes jpeg(const Planes& image, int level);
Planes pixelate(const Planes& image, int level);
Planes elastic(const Planes& image, int level, Random& random);

}  // namespace debias::corruptions
