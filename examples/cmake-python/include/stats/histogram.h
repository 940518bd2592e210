#ifndef STATS_HISTOGRAM_H
#define STATS_HISTOGRAM_H

#include <stddef.h>

#include "stats/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts n values into buckets of equal width from low to high; a value outside is left out.
   Gives how many were counted. */
STATS_API size_t stats_histogram(const double *values, size_t n, double low, double high,
                                 size_t *counts, size_t buckets);

#ifdef __cplusplus
}
#endif

#endif
