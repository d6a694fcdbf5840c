// A rectangle of pixels.
#pragma once

namespace debias {

struct Box {
  int top = 0, left = 0, height = 0, width = 0;
};

}  // namespace debias
