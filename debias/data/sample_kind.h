// Kind of a sample.
#pragma once

namespace debias {

enum class SampleKind { kImages, kSentences };

}  // namespace debias
