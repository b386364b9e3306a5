/* A stand-in for libcuda.so.1: one GPU whose memory is the host's and whose kernels do nothing. As
   with the real driver, a child process cannot use its parent's handles: each call fails. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long address;
enum { kNoContext = 201, kIllegalAddress = 700 };

static pid_t opened_by;

/* With STAND_IN_DIES in the environment a launch ends the context, as an illegal address does. */
static int dead;

static int usable(void) { return opened_by == getpid() ? dead : kNoContext; }

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int number) { return *device = number, 0; }
int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  return strncpy(name, "stand-in", (size_t)size), 0;
}
int cuDeviceGetAttribute(int* value, int what, int device) {
  (void)device;
  return *value = what == 75 ? 9 : what == 76 ? 0 : 1, 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  (void)device;
  opened_by = getpid();
  return *context = &opened_by, 0;
}
int cuCtxSetCurrent(void* context) { return (void)context, usable(); }
int cuMemAlloc_v2(address* at, size_t bytes) { return *at = (address)malloc(bytes), usable(); }
int cuMemFree_v2(address at) { return free((void*)at), usable(); }
int cuMemcpyHtoD_v2(address to, const void* from, size_t bytes) {
  return memcpy((void*)to, from, bytes), usable();
}
int cuMemcpyDtoH_v2(void* to, address from, size_t bytes) {
  return memcpy(to, (void*)from, bytes), usable();
}
int cuMemcpyDtoD_v2(address to, address from, size_t bytes) {
  return memcpy((void*)to, (void*)from, bytes), usable();
}
int cuMemsetD8_v2(address at, unsigned char value, size_t bytes) {
  return memset((void*)at, value, bytes), usable();
}
int cuModuleLoadDataEx(void** module, const void* ptx, unsigned n, void* options, void* values) {
  (void)n, (void)options, (void)values;
  return *module = strstr(ptx, ".visible .entry") == NULL ? NULL : &opened_by,
         *module == NULL ? 218 : usable();
}
int cuModuleUnload(void* module) { return (void)module, usable(); }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  (void)name;
  return *function = module, usable();
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** arguments, void** extra) {
  (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
  (void)stream, (void)arguments, (void)extra;
  const int now = usable();
  if (getenv("STAND_IN_DIES") != NULL) dead = kIllegalAddress;
  return now;
}
int cuStreamSynchronize(void* stream) { return (void)stream, usable(); }
int cuGetErrorName(int error, const char** name) {
  return (void)error, *name = "CUDA_ERROR_OF_THE_STAND_IN", 0;
}
int cuGetErrorString(int error, const char** text) { return (void)error, *text = "refused", 0; }
