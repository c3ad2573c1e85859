/* Holds namespaces open: process 1 of each of the sandbox's machines, and of each pod.
 * Adopted processes are reaped, because nobody else is there to do it. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void leave(int number) { (void)number; _exit(0); }

static void reap(int number) {
    (void)number;
    while (waitpid(-1, 0, WNOHANG) > 0) {}
}

int main(void) {
    struct sigaction on_end = {.sa_handler = leave};
    struct sigaction on_child = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
    sigaction(SIGINT, &on_end, 0);
    sigaction(SIGTERM, &on_end, 0);
    sigaction(SIGCHLD, &on_child, 0);
    for (;;) pause();
}
