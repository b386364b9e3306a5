/* A plugin that copies its input to its output, or misbehaves as the environment variable
 * TOUCHSTONE_EVIL selects. */
#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "touchstone/backend.h"

static const char* failure = NULL;

static int evil(const char* what) {
  const char* const wanted = getenv("TOUCHSTONE_EVIL");
  return wanted != NULL && strcmp(wanted, what) == 0;
}

static int my_alloc(size_t bytes, void** memory) {
  *memory = evil("no-memory") ? NULL : malloc(bytes);
  if (evil("no-memory")) return TOUCHSTONE_OK;
  return *memory != NULL ? TOUCHSTONE_OK : TOUCHSTONE_FAILED;
}

static int my_copy_in(void* memory, const void* host, size_t bytes) {
  memcpy(memory, host, bytes);
  return TOUCHSTONE_OK;
}

static int64_t my_copy_out(void* host, const void* memory, size_t bytes) {
  const size_t most = evil("little") ? bytes - 4 : bytes;
  if (evil("copied")) return (int64_t)strtoull(getenv("WITH"), NULL, 0);
  memcpy(host, memory, most);
  return (int64_t)most;
}

/* Reports the result of a system call, as a failure. */
static int tried(int result) {
  failure = result < 0 ? strerror(errno) : "it could";
  return TOUCHSTONE_FAILED;
}

static int connected(int port) {
  struct sockaddr_in to;
  memset(&to, 0, sizeof to);
  to.sin_family = AF_INET;
  to.sin_port = htons((uint16_t)port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(socket(AF_INET, SOCK_STREAM, 0), (const struct sockaddr*)&to, sizeof to);
}

static int my_compile(const char* kernel_json, void** program) {
  const char* const with = getenv("WITH");
  *program = NULL;
  if (evil("kill")) return tried(kill(getppid(), 0));
  if (evil("kill-it")) return tried(kill(atoi(with), 0));
  if (evil("connect")) return tried(connected(atoi(with)));
  if (evil("write")) return tried(fopen(with, "w") == NULL ? -1 : 0);
  if (evil("unsupported")) {
    failure = "only kernels with a beard";
    return TOUCHSTONE_UNSUPPORTED;
  }
  if (strstr(getenv("TOUCHSTONE_EVIL") == NULL ? "" : getenv("TOUCHSTONE_EVIL"), "reason") != NULL)
    return TOUCHSTONE_FAILED;
  if (evil("refuse")) {
    failure = "line 1: no such thing";
    return TOUCHSTONE_FAILED;
  }
  return strstr(kernel_json, "\"touchstone_kernel\":1") != NULL ? TOUCHSTONE_OK : TOUCHSTONE_FAILED;
}

static int overflow(volatile char* above) {
  volatile char frame[4096];
  frame[0] = above[0]; /* never M */
  return frame[0] == 77 ? 0 : overflow(frame) + frame[0];
}

static volatile char kept;

static int my_run(void* program, void* const* buffers, const size_t* bytes, size_t count) {
  volatile char* const out = buffers[0];
  volatile char* const in = buffers[1];
  (void)program;
  if (count != 2 || bytes[0] != bytes[1]) return TOUCHSTONE_FAILED;
  if (evil("status")) return atoi(getenv("WITH"));
  memcpy(buffers[0], buffers[1], evil("half") ? bytes[0] / 2 : bytes[0]);
  if (evil("null")) {
    volatile int* volatile nowhere = NULL;
    *nowhere = 1;
  }
  if (evil("abort")) abort();
  if (evil("exit")) exit(0);
  if (evil("hang"))
    for (;;) out[0] = in[0];
  if (evil("past-end")) out[bytes[0]] = 1;
  if (evil("far-past-end")) out[bytes[0] + 3000] = 1;
  if (evil("before")) out[-1] = 1;
  if (evil("far-before")) out[-5000] = 1;
  if (evil("read-past-end")) out[0] = in[bytes[1]];
  if (evil("read-before")) kept = in[-1];
  if (evil("write-4096-past-end")) out[bytes[0] + 4096] = 1;
  if (evil("write-65536-before")) out[-65536] = 1;
  if (evil("read-4096-past-end")) kept = in[bytes[1] + 4096];
  if (evil("read-65536-before")) kept = in[-65536];
  if (evil("into-input")) in[2] = 1;
  if (evil("print")) printf("hello, %zu buffers\n", count);
  if (evil("stack")) return overflow(out);
  if (evil("memory")) {
    char* const much = malloc((size_t)4 << 30);
    if (much == NULL) {
      failure = "no memory";
      return TOUCHSTONE_FAILED;
    }
    free(much);
  }
  return TOUCHSTONE_OK;
}

static const char* my_error(void) {
  if (evil("endless-reason")) {
    char* const text = malloc((size_t)64 << 20);
    memset(text, 'x', (size_t)64 << 20);
    text[((size_t)64 << 20) - 1] = 0;
    return text;
  }
  if (evil("wild-reason")) return (const char*)1;
  if (evil("odd-reason")) return "\xff\xfe\n{\"id\":1}\t\x1b[2J";
  return failure;
}

const touchstone_backend* touchstone_backend_get(void) {
  static touchstone_backend backend = {TOUCHSTONE_BACKEND_ABI,
                                       sizeof(touchstone_backend),
                                       "{\"name\":\"copier\",\"version\":\"1.0\"}",
                                       NULL,
                                       NULL,
                                       NULL,
                                       NULL,
                                       my_compile,
                                       my_run,
                                       NULL,
                                       my_error};
  if (getenv("DEVICE") != NULL) {
    backend.alloc = my_alloc;
    backend.free = free;
    backend.copy_in = my_copy_in;
    backend.copy_out = my_copy_out;
  }
  if (evil("version")) backend.abi = 99;
  if (evil("size")) backend.size = 24;
  if (evil("no-run")) backend.run = NULL;
  if (evil("half-memory")) backend.alloc = my_alloc;
  if (evil("capabilities")) backend.capabilities = "copier";
  if (evil("alignment")) backend.capabilities = "{\"name\":\"copier\",\"alignment\":24}";
  if (evil("deep")) {
    static char deep[100000];
    memset(deep, '[', sizeof deep - 1);
    backend.capabilities = deep;
  }
  if (evil("word")) { /* one word of the table */
    int at = 0;
    unsigned long value = 0;
    if (sscanf(getenv("WITH"), "%d,%lx", &at, &value) == 2)
      memcpy((char*)&backend + (size_t)at * sizeof value, &value, sizeof value);
  }
  if (evil("load")) abort();
  return evil("nothing") ? NULL : &backend;
}
