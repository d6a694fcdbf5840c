// A CUDA driver with one device, as far as describe_cuda_device() calls one.
#include <cstring>

extern "C" {

int cuInit(unsigned) { return 0; }

int cuDeviceGet(int* device, int index) {
  *device = 40 + index;
  return index == 0 ? 0 : 101;  // CUDA_ERROR_INVALID_DEVICE
}

int cuDeviceGetName(char* name, int length, int device) {
  std::strncpy(name, device == 40 ? "Stub 9000" : "?", static_cast<size_t>(length));
  return 0;
}

int cuDeviceGetUuid(unsigned char* uuid, int) {
  std::memset(uuid, 0x11, 16);  // of the whole GPU
  return 0;
}

int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(16 * i + device);
  return 0;
}

}  // extern "C"
