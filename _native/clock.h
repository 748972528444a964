/* Nanoseconds since some moment. */
#ifndef RAG_EVAL_CLOCK_H
#define RAG_EVAL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(void) {
    struct timespec now;
#ifdef _WIN32
    timespec_get(&now, TIME_UTC); /* may be put back */
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
