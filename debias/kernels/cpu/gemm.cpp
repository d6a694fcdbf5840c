#include "debias/kernels/cpu/gemm.h"

extern "C" void sgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k, const float* alpha,
                       const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c, const int* ldc);

// Of Intel's library, which carries torch's products on x86; weak, since others have none.
extern "C" int MKL_Set_Num_Threads_Local(int threads) __attribute__((weak));

namespace debias::kernels::cpu {
namespace {

// A product is one thread's work, here. Left to itself, MKL asks whether it is called within a parallel region, and on Intel's processors
// splits a product otherwise in a team of one than in a team of several: the last digits then depend on the number of threads.
class OneThread {
 public:
  OneThread() : before_(MKL_Set_Num_Threads_Local != nullptr ? MKL_Set_Num_Threads_Local(1) : 0) {}
  ~OneThread() {
    if (MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// Column-major, as Fortran has it: a row-major panel is its own transpose.
void gemm(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda, const float* b,
          int64_t ldb, float beta, float* c, int64_t ldc) {
  const int im = static_cast<int>(m), in = static_cast<int>(n), ik = static_cast<int>(k);
  const int ia = static_cast<int>(lda), ib = static_cast<int>(ldb), ic = static_cast<int>(ldc);
  const OneThread one_thread;
  sgemm_(&trans_a, &trans_b, &im, &in, &ik, &alpha, a, &ia, b, &ib, &beta, c, &ic);
}

}  // namespace

void product_nt(int64_t m, int64_t n, int64_t k, float alpha, const float* a, const float* b, float* out, int64_t ld) {
  gemm('T', 'N', n, m, k, alpha, b, k, a, k, 0, out, ld);
}

void product_nn(int64_t m, int64_t n, int64_t d, const float* w, int64_t ld, const float* b, bool add, float* out) {
  gemm('N', 'N', d, m, n, 1, b, d, w, ld, add ? 1 : 0, out, d);
}

void add_product_tn(int64_t m, int64_t n, int64_t d, const float* w, int64_t ld, const float* a, float* out) {
  gemm('N', 'T', d, n, m, 1, a, d, w, ld, 1, out, d);
}

}  // namespace debias::kernels::cpu
