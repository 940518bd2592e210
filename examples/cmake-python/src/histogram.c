#include "stats/histogram.h"

size_t stats_histogram(const double *values, size_t n, double low, double high, size_t *counts, size_t buckets) {
    size_t counted = 0;
    for (size_t b = 0; b < buckets; b++) {
        counts[b] = 0;
    }
    for (size_t i = 0; i < n && buckets > 0 && low < high; i++) {
        if (values[i] >= low && values[i] < high) {
            counts[(size_t)((values[i] - low) / (high - low) * (double)buckets)]++;
            counted++;
        }
    }
    return counted;
}
