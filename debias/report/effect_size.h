// The size of a difference between two accuracies in words, so that 14 and 63 points differ in the text. In points, whatever the sign:
//
//   below 5 slight · from 5 moderate · from 15 strong · from 40 very strong
#pragma once

namespace debias {

inline constexpr double kSlight = 0.05, kModerate = 0.15, kStrong = 0.40;  // the upper ends

const char* size_adjective(double difference);  // "very strong"; shares from -1 to 1
const char* size_adverb(double difference);     // "very strongly"

}  // namespace debias
