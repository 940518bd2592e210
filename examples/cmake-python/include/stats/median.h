#ifndef STATS_MEDIAN_H
#define STATS_MEDIAN_H

#include <stddef.h>

#include "stats/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The median of n values; 0 for none. */
STATS_API double stats_median(const double *values, size_t n);

#ifdef __cplusplus
}
#endif

#endif
