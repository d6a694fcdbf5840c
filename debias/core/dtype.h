// Element types of arrays in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace debias {

enum class DType { kBool, kUInt8, kUInt16, kUInt32, kUInt64, kInt8, kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64 };

size_t size_of(DType dtype);            // bytes of one element
std::string_view name_of(DType dtype);  // "float32", "int64", ...

}  // namespace debias
