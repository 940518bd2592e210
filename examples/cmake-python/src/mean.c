#include "stats/mean.h"

double stats_mean(const double *values, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return n == 0 ? 0 : sum / (double)n;
}
