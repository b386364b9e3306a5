/* Touchstone from C and from whatever calls C: index expressions, rules, views, kernels, verdicts.
 *
 * A handle is used by one thread at a time; different handles may be used at once. Functions that
 * can fail return a touchstone_status, or a text that is NULL then, and leave what they were given
 * as it was; touchstone_error() says why. Texts are UTF-8, end with a zero byte, and belong to the
 * handle that they were asked of: they stay until its next call that changes it or gives a text, or
 * until it is freed. NULL may be freed. Nothing here ends the process, prints, or handles signals.
 * A forked child works on, in one thread; where it was forked while a call of another thread was
 * running, every call fails at once with TOUCHSTONE_STATUS_SYSTEM.
 * C99 and later, C++. */
#ifndef TOUCHSTONE_H
#define TOUCHSTONE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TOUCHSTONE_API __attribute__((visibility("default")))
#else
#define TOUCHSTONE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int touchstone_status;
enum {
  TOUCHSTONE_STATUS_OK = 0,
  TOUCHSTONE_STATUS_INPUT = 1,       /* what was given is wrong: mend it as the error says */
  TOUCHSTONE_STATUS_MEMORY = 2,      /* there is not enough */
  TOUCHSTONE_STATUS_SYSTEM = 3,      /* something outside failed: a child process, a thread */
  TOUCHSTONE_STATUS_INTERRUPTED = 4, /* by touchstone_interrupt */
  TOUCHSTONE_STATUS_INTERNAL = 5     /* a bug of Touchstone */
};

/* "0.1.0" */
TOUCHSTONE_API const char* touchstone_version(void);
/* Of this thread's last call that failed; "" before. Stays until the next one that fails. */
TOUCHSTONE_API const char* touchstone_error(void);
/* From 1 on all long computations of the process end with TOUCHSTONE_STATUS_INTERRUPTED, until 0.
 * May be called by any thread and by a signal handler. */
TOUCHSTONE_API void touchstone_interrupt(int wanted);

/* ---- Index expressions (docs/symbolic.md) ---- */

/* Variables and what is known of them. Answers are remembered, in bounded memory. */
typedef struct touchstone_scope touchstone_scope;
TOUCHSTONE_API touchstone_status touchstone_scope_new(touchstone_scope** scope);
TOUCHSTONE_API void touchstone_scope_free(touchstone_scope* scope);
/* Both ends are inclusive and decimal, of any size; NULL is open. A name again replaces its range.
 */
TOUCHSTONE_API touchstone_status touchstone_scope_variable(touchstone_scope* scope,
                                                           const char* name, const char* low,
                                                           const char* high);
/* A condition as "a < b". It is read when something is simplified. */
TOUCHSTONE_API touchstone_status touchstone_scope_assume(touchstone_scope* scope,
                                                         const char* condition);

/* Simplifies an expression, as "(a*4 + b)//4"; division and modulo floor. */
typedef struct touchstone_simplified touchstone_simplified;
TOUCHSTONE_API touchstone_status touchstone_simplify(touchstone_scope* scope,
                                                     const char* expression,
                                                     touchstone_simplified** simplified);
TOUCHSTONE_API void touchstone_simplified_free(touchstone_simplified* simplified);
TOUCHSTONE_API const char* touchstone_simplified_text(const touchstone_simplified* simplified);
/* Bounds of the value, inclusive, in decimal digits; NULL where open. */
TOUCHSTONE_API const char* touchstone_simplified_low(const touchstone_simplified* simplified);
TOUCHSTONE_API const char* touchstone_simplified_high(const touchstone_simplified* simplified);
/* Operators, variables and constants. */
TOUCHSTONE_API size_t touchstone_simplified_size(const touchstone_simplified* simplified);

/* ---- Rules, for all integers (docs/rules.md) ---- */

typedef struct touchstone_proof touchstone_proof;
enum { TOUCHSTONE_PROVED = 0, TOUCHSTONE_REFUTED = 1, TOUCHSTONE_UNKNOWN = 2 };
/* Decides "LHS -> RHS" or "LHS -> RHS ; CONDITION". witness: how to write a number, as
 * "x = c*q + r"; NULL: it is found. Takes up to minutes; the solver runs in a child process. */
TOUCHSTONE_API touchstone_status touchstone_prove(const char* rule, const char* witness,
                                                  touchstone_proof** proof);
TOUCHSTONE_API void touchstone_proof_free(touchstone_proof* proof);
TOUCHSTONE_API int touchstone_proof_verdict(const touchstone_proof* proof);
/* In words, a line each: the steps of a proof, the counterexample, or why it is not decided. */
TOUCHSTONE_API const char* touchstone_proof_text(const touchstone_proof* proof);

/* ---- Views (docs/views.md) ---- */

/* A stack of strided views over one buffer; part 0 is next to the buffer, the last part is seen.
 * The operations change what is seen, and fail where they do not fit it. */
typedef struct touchstone_view touchstone_view;
/* Row-major. rank 0 is a scalar, whose arrays may be NULL. */
TOUCHSTONE_API touchstone_status touchstone_view_new(const int64_t* shape, size_t rank,
                                                     touchstone_view** view);
/* At these strides, in elements, from this offset on. */
TOUCHSTONE_API touchstone_status touchstone_view_strided(const int64_t* shape,
                                                         const int64_t* strides, size_t rank,
                                                         int64_t offset, touchstone_view** view);
TOUCHSTONE_API touchstone_status touchstone_view_copy(const touchstone_view* view,
                                                      touchstone_view** copy);
TOUCHSTONE_API void touchstone_view_free(touchstone_view* view);

TOUCHSTONE_API touchstone_status touchstone_view_reshape(touchstone_view* view,
                                                         const int64_t* shape, size_t rank);
TOUCHSTONE_API touchstone_status touchstone_view_expand(touchstone_view* view, const int64_t* shape,
                                                        size_t rank);
/* New axis i is old axis order[i]. */
TOUCHSTONE_API touchstone_status touchstone_view_permute(touchstone_view* view, const int* order,
                                                         size_t rank);
/* Two numbers an axis: elements before and after. */
TOUCHSTONE_API touchstone_status touchstone_view_pad(touchstone_view* view, const int64_t* padding,
                                                     size_t rank);
/* Two numbers an axis: [begin, end) stays. */
TOUCHSTONE_API touchstone_status touchstone_view_shrink(touchstone_view* view,
                                                        const int64_t* ranges, size_t rank);
/* Every |step|-th element of an axis; from its end on where negative. */
TOUCHSTONE_API touchstone_status touchstone_view_stride(touchstone_view* view, const int64_t* steps,
                                                        size_t rank);
/* As few views as were found to say the same. */
TOUCHSTONE_API touchstone_status touchstone_view_simplify(touchstone_view* view);

TOUCHSTONE_API size_t touchstone_view_parts(const touchstone_view* view);
/* Of a part below touchstone_view_parts; 0 of others. */
TOUCHSTONE_API size_t touchstone_view_rank(const touchstone_view* view, size_t part);
/* Its shape, strides, offset, and two numbers an axis: [begin, end) may be read. Each may be NULL.
 */
TOUCHSTONE_API touchstone_status touchstone_view_part(const touchstone_view* view, size_t part,
                                                      int64_t* shape, int64_t* strides,
                                                      int64_t* offset, int64_t* mask);
/* The element of the buffer that an index reads; -1 where it is padding. */
TOUCHSTONE_API touchstone_status touchstone_view_at(const touchstone_view* view,
                                                    const int64_t* index, size_t rank,
                                                    int64_t* element);
/* The element as an expression of idx0, idx1, ..., and when it may be read: 1 is always. */
TOUCHSTONE_API const char* touchstone_view_index(touchstone_view* view);
TOUCHSTONE_API const char* touchstone_view_valid(touchstone_view* view);
/* Why the stack is one view, or is none, in a sentence. */
TOUCHSTONE_API const char* touchstone_view_reason(touchstone_view* view);

/* ---- Kernels and verdicts (docs/kernel-json.md, docs/oracle.md) ---- */

typedef struct touchstone_kernel touchstone_kernel;
/* A kernel.json; its variables have these values, `count` of them. */
TOUCHSTONE_API touchstone_status touchstone_kernel_json(const char* json, const char* const* names,
                                                        const int64_t* values, size_t count,
                                                        touchstone_kernel** kernel);
/* A formula of named operations, as "softmax(x[64,128])" (docs/define.md). */
TOUCHSTONE_API touchstone_status touchstone_kernel_formula(const char* formula,
                                                           touchstone_kernel** kernel);
TOUCHSTONE_API void touchstone_kernel_free(touchstone_kernel* kernel);
/* The kernel.json. */
TOUCHSTONE_API const char* touchstone_kernel_text(const touchstone_kernel* kernel);
/* Buffer 0 is the output, 1 and on are inputs. What there is not has no elements and type NULL. */
TOUCHSTONE_API size_t touchstone_kernel_buffers(const touchstone_kernel* kernel);
TOUCHSTONE_API size_t touchstone_kernel_elements(const touchstone_kernel* kernel, size_t buffer);
TOUCHSTONE_API size_t touchstone_kernel_bytes(const touchstone_kernel* kernel, size_t buffer);
TOUCHSTONE_API const char* touchstone_kernel_type(const touchstone_kernel* kernel, size_t buffer);

/* Runs the kernel on the reference device. buffers[i] has bytes[i] bytes, no fewer than
 * touchstone_kernel_bytes, of any alignment, in the machine's byte order; buffers[0] is written.
 * One kernel runs at a time, on all cores. */
TOUCHSTONE_API touchstone_status touchstone_eval(const touchstone_kernel* kernel,
                                                 void* const* buffers, const size_t* bytes,
                                                 size_t count);

typedef struct touchstone_verdict touchstone_verdict;
enum {
  TOUCHSTONE_PASS = 0,
  TOUCHSTONE_FAIL = 1,
  TOUCHSTONE_UNUSABLE = 2,
  TOUCHSTONE_WEAK = 3,
  TOUCHSTONE_SUSPECT = 5 /* as the exit codes of the touchstone command */
};
/* Judges buffers[0] as the output on the others. profile: the arithmetic that is allowed, a name or
 * the JSON of one; NULL: "glibc". */
TOUCHSTONE_API touchstone_status touchstone_check(const touchstone_kernel* kernel,
                                                  const char* profile, const void* const* buffers,
                                                  const size_t* bytes, size_t count,
                                                  touchstone_verdict** verdict);
TOUCHSTONE_API void touchstone_verdict_free(touchstone_verdict* verdict);
TOUCHSTONE_API int touchstone_verdict_outcome(const touchstone_verdict* verdict);
/* One line, as of the touchstone command: "FAIL: 1 of 640 elements; first at (3, 7): ..." */
TOUCHSTONE_API const char* touchstone_verdict_text(const touchstone_verdict* verdict);
/* Elements that were looked at, that are not legal, and the first of those, -1 for none. */
TOUCHSTONE_API size_t touchstone_verdict_checked(const touchstone_verdict* verdict);
TOUCHSTONE_API size_t touchstone_verdict_wrong(const touchstone_verdict* verdict);
TOUCHSTONE_API int64_t touchstone_verdict_first(const touchstone_verdict* verdict);

#ifdef __cplusplus
}
#endif

#endif
