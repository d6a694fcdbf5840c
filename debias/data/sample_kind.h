// What a sample is.
#pragma once

namespace debias {

enum class SampleKind { kImages, kSentences };

}  // namespace debias
