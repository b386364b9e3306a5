// The definitions of the macros in a kernel's C for each target, and its helpers.
#include "touchstone/cuda/c_math.h"
#include "touchstone/cuda/render_cuda.h"

namespace touchstone::cuda {

namespace {

// LLVM uses vector loads if it knows the alignment of a buffer, here the allocator's. KEEP marks
// loads as unaffected by barriers, so that loaded values, and values computed from them, stay in
// registers across a barrier. FROM_SIGNED hides an integer that becomes a float: clang 19 takes one
// that it knows to be -1 or 0 for 1 or 0.
constexpr std::string_view kNvptx = R"(#define KERNEL(threads) __attribute__((nvptx_kernel)) void
#define SHARED static __attribute__((address_space(3)))
#define THREAD ((u32)__nvvm_read_ptx_sreg_tid_x())
#define BLOCK ((u32)__nvvm_read_ptx_sreg_ctaid_x())
#define BLOCKS ((u32)__nvvm_read_ptx_sreg_nctaid_x())
#define MEET() __syncthreads()
#define MEET_WARP(threads) do { if ((threads) % 32 != 0) __syncthreads(); \
  else __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory"); } while (0)
#define HIDE(x) __asm__("" : "+r"(x))
#define FROM_SIGNED(T, x) ({ T s_ = (x); __asm__("" : "+" R_##T(s_)); s_; })
#define R_i32(x) "r"(x)
#define R_i64(x) "l"(x)
#define LAST(p) ({ u32 n_; __asm__ volatile("fence.acq_rel.gpu; atom.inc.u32 %0, [%1], %2; fence.acq_rel.gpu;" \
  : "=r"(n_) : "l"(p), "r"(BLOCKS - 1) : "memory"); n_ == BLOCKS - 1; })
#define KEEP(T, R, OP, TO, p) ({ R r_; T v_; \
  __asm__(OP " %0, [%1];" : TO(r_) : "l"((const T __attribute__((address_space(1)))*)(p))); \
  __builtin_memcpy(&v_, &r_, sizeof v_); v_; })
#define KEEP1(T, p) KEEP(T, u16, "ld.global.nc.u8", "=h", p)
#define KEEP2(T, p) KEEP(T, u16, "ld.global.nc.b16", "=h", p)
#define KEEP4(T, p) KEEP(T, u32, "ld.global.nc.b32", "=r", p)
#define KEEP8(T, p) KEEP(T, u64, "ld.global.nc.b64", "=l", p)
)";

constexpr std::string_view kHost = R"(#define KERNEL(threads) static void
#define SHARED static
struct grid { u32 thread, block, blocks; void (*meet)(struct grid*); void (*meet_warp)(struct grid*); };
static struct grid* here;
#define THREAD (here->thread)
#define BLOCK (here->block)
#define BLOCKS (here->blocks)
#define MEET() here->meet(here)
#define MEET_WARP(threads) here->meet_warp(here)
#define HIDE(x)
#define FROM_SIGNED(T, x) (x)
#define LAST(p) (*(p) == BLOCKS - 1 ? (*(p) = 0, 1) : (++*(p), 0))
#define KEEP1(T, p) (*(p))
#define KEEP2(T, p) (*(p))
#define KEEP4(T, p) (*(p))
#define KEEP8(T, p) (*(p))
)";

}  // namespace

std::string target_preamble(Target target, std::string_view functions) {
  std::string text = preamble_without_libm(functions);
  return text.append(target == Target::Host ? kHost : kNvptx);
}

}  // namespace touchstone::cuda
