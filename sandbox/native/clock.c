/* Moves the clock of one process by CLOCK_OFFSET seconds, as on a machine whose clock is wrong.
 *
 * Preloaded by tests. The monotonic clock stays as it is: that is what happens on a real machine, too. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t offset(void) {
    const char *text = getenv("CLOCK_OFFSET");
    return text ? (time_t)atoll(text) : 0;
}

int clock_gettime(clockid_t which, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, which, now);
    if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += offset();
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &exact);
    if (result == 0 && now) {
        now->tv_sec = exact.tv_sec;
        now->tv_usec = (suseconds_t)(exact.tv_nsec / 1000);
    }
    return result;
}

time_t time(time_t *out) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (out) {
        *out = exact.tv_sec;
    }
    return exact.tv_sec;
}
