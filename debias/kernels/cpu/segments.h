// The arithmetic of one stretch of scores s[0..n), vectorised for the machine it runs on. Column arrays run beside s; an output column
// array may be null.
#pragma once

#include <cstdint>

namespace debias::kernels::cpu {

// Sum of e^{k s - shift}; the terms are added to columns.
float exp_sum(const float* s, int64_t n, float k, float shift, float* columns);
// The same with a shift for the row and one for each column: returns the sum of e^{k s - shift}, adds e^{k s_j - shifts[j]} to columns[j].
float exp_sum_shifted(const float* s, int64_t n, float k, float shift, const float* shifts, float* columns);
// s becomes e^{k s - shift}.
void exponentials(float* s, int64_t n, float k, float shift);
// Sum of terms that are there; they are added to columns.
float sum(const float* terms, int64_t n, float* columns);
// Largest k s, raised into columns.
float largest(const float* s, int64_t n, float k, float* columns);

// Sum of weights[j] e^{k s_j - shift}.
float weighted_exp_sum(const float* s, int64_t n, float k, float shift, const float* weights);
// out[j] += a weights[j] e^{k s_j - shift}
void add_weighted_exps(const float* s, int64_t n, float k, float shift, float a, const float* weights, float* out);

// w[j] += e^{k s_j - shift} (a + as[j])
void add_exp_weights(const float* s, int64_t n, float k, float shift, float a, const float* as, float* w);
// w[j] += e_j (a + as[j])
void add_weights(const float* e, int64_t n, float a, const float* as, float* w);
// w[j] += a e^{k s_j - shift} + as[j] e^{k s_j - shifts[j]}
void add_exp_weights_shifted(const float* s, int64_t n, float k, float shift, const float* shifts, float a, const float* as, float* w);

// log(e^{-epsilon} + e^x) and its slope at x = c + sign s.
struct LogAdd {
  float sign, epsilon;
};
struct LogAddSum {
  float sum, slope;
};
LogAddSum log_add_sum(const float* s, int64_t n, LogAdd term, float c);
// w[j] += u slope(c + sign s_j) + us[j] slope(cs[j] + sign s_j), times factor
void add_log_add_weights(const float* s, int64_t n, LogAdd term, float factor, float c, const float* cs, float u, const float* us,
                         float* w);
// The columns' side: sums[j] += log_add(cs[j] + sign s_j), slopes[j] += its slope.
void log_add_columns(const float* s, int64_t n, LogAdd term, const float* cs, float* sums, float* slopes);

}  // namespace debias::kernels::cpu
