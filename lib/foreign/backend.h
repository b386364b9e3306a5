/* A tensor backend as a shared object: what Touchstone calls to judge it (docs/backends.md).
 *
 * The object exports touchstone_backend_get(). It is loaded into a process of its own, with limits
 * on time and memory; a call that crashes or hangs is a verdict, not the end of the run. One thread
 * calls. C99 and later, C++. */
#ifndef TOUCHSTONE_BACKEND_H
#define TOUCHSTONE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#define TOUCHSTONE_BACKEND_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* What calls return. */
enum {
  TOUCHSTONE_OK = 0,
  TOUCHSTONE_FAILED = 1,     /* error() says why */
  TOUCHSTONE_UNSUPPORTED = 2 /* of compile: not a kernel of this backend, which is no fault */
};

/* Functions that are not marked optional must be there. */
typedef struct touchstone_backend {
  uint32_t abi;  /* TOUCHSTONE_BACKEND_ABI; stands first in every version */
  uint32_t size; /* sizeof(struct touchstone_backend) */

  /* A JSON object: "name"; optional "version", "profile" (a name or an object, docs/oracle.md),
   * "alignment" (bytes that buffers on the host must be aligned to, a power of two; 16). */
  const char* capabilities;

  /* Memory of the device. All four are there, or none: run() then gets buffers on the host, whose
   * inputs are read-only and whose ends are guarded. copy_out returns the bytes it copied, or a
   * negative number. */
  int (*alloc)(size_t bytes, void** memory);
  void (*free)(void* memory);
  int (*copy_in)(void* memory, const void* host, size_t bytes);
  int64_t (*copy_out)(void* host, const void* memory, size_t bytes);

  /* A program for one kernel.json (docs/kernel-json.md); the text ends with a zero byte. */
  int (*compile)(const char* kernel_json, void** program);
  /* buffers[i] is the kernel's buffer number i, of bytes[i] bytes; 0 is the output. Returns when
   * the output is complete. */
  int (*run)(void* program, void* const* buffers, const size_t* bytes, size_t count);
  void (*release)(void* program); /* optional */

  /* Why the last call did not return TOUCHSTONE_OK; optional, and may return NULL. */
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
