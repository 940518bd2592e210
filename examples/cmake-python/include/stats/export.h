#ifndef STATS_EXPORT_H
#define STATS_EXPORT_H

#define STATS_VERSION "1.2.0"
#define STATS_API __attribute__((visibility("default")))

#endif
