#undef NDEBUG
#include <assert.h>

#include "stats/histogram.h"

int main(void) {
    const double v[] = {0, 0.5, 1, 1.9, 2, -1};
    size_t counts[2];
    assert(stats_histogram(v, 6, 0, 2, counts, 2) == 4);
    assert(counts[0] == 2 && counts[1] == 2);
    return 0;
}
