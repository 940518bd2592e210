#undef NDEBUG
#include <assert.h>

#include "stats/mean.h"

int main(void) {
    const double v[] = {1, 2, 6};
    assert(stats_mean(v, 3) == 3);
    assert(stats_mean(v, 0) == 0);
    return 0;
}
