#include "debias/results/student_t.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <stdexcept>

namespace debias {

double student_t_quantile(double probability, double degrees) {
  if (!(probability > 0 && probability < 1 && degrees > 0)) throw std::invalid_argument("student_t_quantile: outside of its range");
  return boost::math::quantile(boost::math::students_t(degrees), probability);
}

double student_t_two_sided(double t, double degrees) {
  if (!(degrees > 0)) throw std::invalid_argument("student_t_two_sided: degrees of freedom above 0 are needed");
  if (std::isinf(t)) return 0;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(degrees), std::fabs(t)));
}

}  // namespace debias
