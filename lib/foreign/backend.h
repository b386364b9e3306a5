/* A tensor backend as a shared object: the functions that Touchstone calls to test it
 * (docs/backends.md).
 *
 * The object exports touchstone_backend_get(). It is loaded into its own process with time and
 * memory limits; a call that crashes or hangs is a verdict and does not end the run. Calls come
 * from one thread. C99 and later, C++. */
#ifndef TOUCHSTONE_BACKEND_H
#define TOUCHSTONE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#define TOUCHSTONE_BACKEND_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* Return values of calls. */
enum {
  TOUCHSTONE_OK = 0,
  TOUCHSTONE_FAILED = 1,     /* error() returns the reason */
  TOUCHSTONE_UNSUPPORTED = 2 /* compile: the backend does not support the kernel; not a fault */
};

/* Functions not marked optional are required. */
typedef struct touchstone_backend {
  uint32_t abi;  /* TOUCHSTONE_BACKEND_ABI; first member in every version */
  uint32_t size; /* sizeof(struct touchstone_backend) */

  /* A JSON object: "name"; optional "version", "profile" (a name or an object, docs/oracle.md),
   * "alignment" (required alignment of host buffers in bytes, a power of two; default 16). */
  const char* capabilities;

  /* Device memory. Provide all four or none; without them run() gets host buffers with read-only
   * inputs and guarded ends. copy_out returns the number of bytes copied, or a negative number. */
  int (*alloc)(size_t bytes, void** memory);
  void (*free)(void* memory);
  int (*copy_in)(void* memory, const void* host, size_t bytes);
  int64_t (*copy_out)(void* host, const void* memory, size_t bytes);

  /* Compiles one kernel.json (docs/kernel-json.md); the text ends with a zero byte. */
  int (*compile)(const char* kernel_json, void** program);
  /* buffers[i] is the kernel's buffer i, of bytes[i] bytes; 0 is the output. Returns when the
   * output is complete. */
  int (*run)(void* program, void* const* buffers, const size_t* bytes, size_t count);
  void (*release)(void* program); /* optional */

  /* Why the last call did not return TOUCHSTONE_OK; optional; may return NULL. */
  const char* (*error)(void);
} touchstone_backend;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const touchstone_backend*
touchstone_backend_get(void);

#ifdef __cplusplus
}
#endif

#endif
