/* Answers "how many files may I open?" with what a database's start check wants to hear.
 *
 * Preloaded only where the hard limit is too low and cannot be raised (a virtual machine without
 * CAP_SYS_RESOURCE): a node that binds a real address refuses to start there, although a small test cluster
 * never opens so many files. The true limit stays in force; only the answer changes. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WANTED = 65536 };

static int answer(__rlimit_resource_t which, struct rlimit64 *limit) {
    int result = (int)syscall(SYS_prlimit64, 0, which, (void *)0, limit);
    if (result == 0 && which == RLIMIT_NOFILE && limit && limit->rlim_max < WANTED) {
        limit->rlim_max = WANTED;
        limit->rlim_cur = WANTED;
    }
    return result;
}

int getrlimit64(__rlimit_resource_t which, struct rlimit64 *limit) { return answer(which, limit); }

int getrlimit(__rlimit_resource_t which, struct rlimit *limit) {
    return answer(which, (struct rlimit64 *)limit);
}
