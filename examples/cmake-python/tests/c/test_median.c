#undef NDEBUG
#include <assert.h>

#include "stats/median.h"

int main(void) {
    const double v[] = {9, 1, 5, 3};
    assert(stats_median(v, 3) == 5);
    assert(stats_median(v, 4) == 4);
    assert(stats_median(v, 0) == 0);
    return 0;
}
