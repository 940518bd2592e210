#ifndef STATS_MEAN_H
#define STATS_MEAN_H

#include <stddef.h>

#include "stats/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The mean of n values; 0 for none. */
STATS_API double stats_mean(const double *values, size_t n);

#ifdef __cplusplus
}
#endif

#endif
