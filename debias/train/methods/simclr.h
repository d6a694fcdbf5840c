// The method of contrastive and supervised training in one network: every view passes the encoder, every term reads all views.
#pragma once

#include "debias/train/methods/method.h"

namespace debias {

std::unique_ptr<Method> make_simclr(MethodParts parts);
MethodEntry simclr_entry();

}  // namespace debias
