#include <stdio.h>

#include "stats/mean.h"

int main(void) {
    const double v[] = {1, 2, 6};
    printf("%g\n", stats_mean(v, 3));
    return 0;
}
