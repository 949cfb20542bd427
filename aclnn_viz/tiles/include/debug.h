// Opens gdb where a process crashed, or was still running after too long, if ACLNN_VIZ_GDB says so: "SECONDS TERMINAL".
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace aclnn_viz {

// Called by the handler of a signal, whose name is given; this process goes on when the person leaves gdb.
inline void debug(const char *handler) {
    const char *terminal = std::getenv("ACLNN_VIZ_GDB");
    if (!terminal) return;
    while (*terminal && *terminal++ != ' ') {}
    char process[24], frame[64];
    std::snprintf(process, sizeof process, "%d", int(getpid())), std::snprintf(frame, sizeof frame, "frame function %s", handler);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // gdb is a child here
    if (pid_t gdb = fork()) {
        while (waitpid(gdb, nullptr, 0) < 0 && errno == EINTR) {}
        return;
    }
    int screen = open(terminal, O_RDWR);
    for (int each = 0; each < 3; ++each) dup2(screen, each);
    execlp("gdb", "gdb", "-q", "-p", process, "-ex", "set confirm off", "-ex", "set pagination off",
           "-ex", frame, "-ex", "up", "-ex", "up",  // from the handler past the signal's frame to the person's line
           static_cast<char *>(nullptr));
    _exit(127);
}

// Lets a process that computes for too long get SIGPROF, as it would crash.
inline void debug_late() {
    const char *seconds = std::getenv("ACLNN_VIZ_GDB");
    itimerval limit = {};
    if (seconds) limit.it_value.tv_sec = time_t(std::ceil(std::strtod(seconds, nullptr))), setitimer(ITIMER_PROF, &limit, nullptr);
}

}  // namespace aclnn_viz
