/* A plugin that copies its input to its output, or does what the environment variable EVIL says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "touchstone/backend.h"

static const char* failure = NULL;

static int evil(const char* what) {
  const char* const wanted = getenv("EVIL");
  return wanted != NULL && strcmp(wanted, what) == 0;
}

static int my_alloc(size_t bytes, void** memory) {
  *memory = malloc(bytes);
  return *memory != NULL ? TOUCHSTONE_OK : TOUCHSTONE_FAILED;
}

static int my_copy_in(void* memory, const void* host, size_t bytes) {
  memcpy(memory, host, bytes);
  return TOUCHSTONE_OK;
}

static int64_t my_copy_out(void* host, const void* memory, size_t bytes) {
  const size_t most = evil("little") ? bytes - 4 : bytes;
  memcpy(host, memory, most);
  return (int64_t)most;
}

static int my_compile(const char* kernel_json, void** program) {
  *program = NULL;
  if (evil("unsupported")) {
    failure = "only kernels with a beard";
    return TOUCHSTONE_UNSUPPORTED;
  }
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

static int my_run(void* program, void* const* buffers, const size_t* bytes, size_t count) {
  volatile char* const out = buffers[0];
  volatile char* const in = buffers[1];
  (void)program;
  if (count != 2 || bytes[0] != bytes[1]) return TOUCHSTONE_FAILED;
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

static const char* my_error(void) { return failure; }

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
  if (evil("load")) abort();
  return evil("nothing") ? NULL : &backend;
}
