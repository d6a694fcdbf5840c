// Student's t distribution, by Boost.Math. Both throw std::invalid_argument outside of the ranges given.
#pragma once

namespace debias {

// The t at which Student's distribution with `degrees` > 0 of freedom, whole or not, has `probability` in (0, 1) below it.
double student_t_quantile(double probability, double degrees);

// The probability that |T| >= |t| of Student's distribution with `degrees` > 0 of freedom, in [0, 1].
double student_t_two_sided(double t, double degrees);

}  // namespace debias
