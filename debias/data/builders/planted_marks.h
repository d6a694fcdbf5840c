// Marks that a shortcut leaves in an image: what `debias data plant` draws.
#pragma once

#include <cstdint>

#include "debias/core/philox.h"
#include "debias/image/image.h"

namespace debias {

// Which of `count` values the mark has.
struct MarkValue {
  int64_t value = 0, count = 2;
};

// Each draws on an RGB image of any size; lengths are shares of its shorter side. `random` gives what differs from image to image.
void mark_square(Image& image, const MarkValue& mark, Random& random);           // a noisy coloured square, top left, a quarter wide
void mark_square_anywhere(Image& image, const MarkValue& mark, Random& random);  // the same at a random place
void mark_text(Image& image, const MarkValue& mark, Random& random);             // white digits on black, bottom left
void mark_border(Image& image, const MarkValue& mark, Random& random);           // a noisy coloured frame, a sixteenth wide
void mark_scene(Image& image, const MarkValue& mark, Random& random);            // a sky and a ground around an ellipse that stays
void mark_blur(Image& image, const MarkValue& mark, Random& random);             // value 0 stays sharp
void mark_jpeg(Image& image, const MarkValue& mark, Random& random);             // compressed and decoded again; value 0 at quality 95
void mark_noise(Image& image, const MarkValue& mark, Random& random);            // value 0 stays as it is
void mark_size(Image& image, const MarkValue& mark, Random& random);             // each value an eighth larger than the one before
void mark_tint(Image& image, const MarkValue& mark, Random& random);             // a faint colour cast

}  // namespace debias
