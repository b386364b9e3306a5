/* The C interface of Touchstone: index expressions, rules, views, kernels, verdicts.
 *
 * Use a handle from one thread at a time; different handles are independent. Functions that can
 * fail return a touchstone_status or a text (NULL on failure) and leave their arguments unchanged;
 * touchstone_error() has the reason. Texts are UTF-8, end with a zero byte, and belong to the
 * handle that returned them: they are valid until its next call that changes it or returns a text,
 * or until it is freed. NULL may be freed. Nothing here exits the process or handles signals. A
 * forked child can continue in one thread; if it was forked during another thread's call, every
 * call fails at once with TOUCHSTONE_STATUS_SYSTEM. Only touchstone_judge_and_print and
 * touchstone_judge_operation print. C99 and later, C++. */
#ifndef TOUCHSTONE_H
#define TOUCHSTONE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  TOUCHSTONE_STATUS_INPUT = 1,       /* an argument is wrong; the error says how to fix it */
  TOUCHSTONE_STATUS_MEMORY = 2,      /* out of memory */
  TOUCHSTONE_STATUS_SYSTEM = 3,      /* an external failure: a child process, a thread */
  TOUCHSTONE_STATUS_INTERRUPTED = 4, /* by touchstone_interrupt */
  TOUCHSTONE_STATUS_INTERNAL = 5     /* a bug of Touchstone */
};

/* "0.1.0" */
TOUCHSTONE_API const char* touchstone_version(void);
/* The error of this thread's last failed call; "" before. Valid until the next failed call. */
TOUCHSTONE_API const char* touchstone_error(void);
/* 1: all long computations of the process end with TOUCHSTONE_STATUS_INTERRUPTED, until it is
 * called with 0. Safe in any thread and in a signal handler. */
TOUCHSTONE_API void touchstone_interrupt(int wanted);

/* ---- Index expressions (docs/symbolic.md) ---- */

/* Variables and assumptions about them. Caches results in bounded memory. */
typedef struct touchstone_scope touchstone_scope;
TOUCHSTONE_API touchstone_status touchstone_scope_new(touchstone_scope** scope);
TOUCHSTONE_API void touchstone_scope_free(touchstone_scope* scope);
/* Bounds are inclusive decimal integers of any size; NULL: unbounded. A repeated name replaces its
 * range. */
TOUCHSTONE_API touchstone_status touchstone_scope_variable(touchstone_scope* scope,
                                                           const char* name, const char* low,
                                                           const char* high);
/* A condition such as "a < b". It is parsed at the next simplification. */
TOUCHSTONE_API touchstone_status touchstone_scope_assume(touchstone_scope* scope,
                                                         const char* condition);

/* Simplifies an expression such as "(a*4 + b)//4"; division and modulo floor. */
typedef struct touchstone_simplified touchstone_simplified;
TOUCHSTONE_API touchstone_status touchstone_simplify(touchstone_scope* scope,
                                                     const char* expression,
                                                     touchstone_simplified** simplified);
TOUCHSTONE_API void touchstone_simplified_free(touchstone_simplified* simplified);
TOUCHSTONE_API const char* touchstone_simplified_text(const touchstone_simplified* simplified);
/* Inclusive bounds of the value in decimal digits; NULL if unbounded. */
TOUCHSTONE_API const char* touchstone_simplified_low(const touchstone_simplified* simplified);
TOUCHSTONE_API const char* touchstone_simplified_high(const touchstone_simplified* simplified);
/* The number of operators, variables and constants. */
TOUCHSTONE_API size_t touchstone_simplified_size(const touchstone_simplified* simplified);

/* A certificate: the simplification of an expression as steps that a checker replays without the
 * simplifier (docs/symbolic.md). touchstone_certify searches for one; touchstone_verify checks a
 * line of JSON, also an answer of `touchstone simplify --jsonl --certify`. */
typedef struct touchstone_certificate touchstone_certificate;
TOUCHSTONE_API touchstone_status touchstone_certify(const touchstone_scope* scope,
                                                    const char* expression,
                                                    touchstone_certificate** certificate);
TOUCHSTONE_API touchstone_status touchstone_verify(const char* json,
                                                   touchstone_certificate** certificate);
TOUCHSTONE_API void touchstone_certificate_free(touchstone_certificate* certificate);
/* 1 if the checker accepts every step, else 0. */
TOUCHSTONE_API int touchstone_certificate_right(const touchstone_certificate* certificate);
/* Why it is not accepted; "" if it is. */
TOUCHSTONE_API const char* touchstone_certificate_reason(const touchstone_certificate* certificate);
/* "a*4//4 = a where a in [0, 9]". */
TOUCHSTONE_API const char* touchstone_certificate_claim(const touchstone_certificate* certificate);
/* The certificate as JSON: one line from touchstone_certify, the given text from touchstone_verify.
 */
TOUCHSTONE_API const char* touchstone_certificate_json(const touchstone_certificate* certificate);

/* ---- Maps and indices (docs/layouts.md) ---- */

/* Answers a question about layouts, maps or an index, a JSON object such as
 * {"operation":"equal","maps":["(4,8):(8,1)","(4,(2,4)):(8,(1,2))"]} or
 * {"operation":"check-index","maps":["i*4"],"vars":{"i":[0,7]},"size":"32"}; the members are the
 * options of `touchstone map` and `touchstone check-index`. The answer is a JSON object, too. */
typedef struct touchstone_map_answer touchstone_map_answer;
TOUCHSTONE_API touchstone_status touchstone_map_ask(const char* question,
                                                    touchstone_map_answer** answer);
TOUCHSTONE_API void touchstone_map_answer_free(touchstone_map_answer* answer);
TOUCHSTONE_API const char* touchstone_map_answer_json(const touchstone_map_answer* answer);

/* ---- Rules, for all integers (docs/rules.md) ---- */

typedef struct touchstone_proof touchstone_proof;
enum { TOUCHSTONE_PROVED = 0, TOUCHSTONE_REFUTED = 1, TOUCHSTONE_UNKNOWN = 2 };
/* Decides "LHS -> RHS" or "LHS -> RHS ; CONDITION". witness: how to split a variable, such as "x =
 * c*q + r"; NULL: search for one. May take minutes; the solver runs in a child process. */
TOUCHSTONE_API touchstone_status touchstone_prove(const char* rule, const char* witness,
                                                  touchstone_proof** proof);
/* Decides whether a comparison holds wherever the scope's assumptions do and it has a value.
 * effort: steps of the solver, such as 2000000; 0: it is not asked. */
TOUCHSTONE_API touchstone_status touchstone_decide(const touchstone_scope* scope, const char* claim,
                                                   unsigned effort, touchstone_proof** proof);
TOUCHSTONE_API void touchstone_proof_free(touchstone_proof* proof);
TOUCHSTONE_API int touchstone_proof_verdict(const touchstone_proof* proof);
/* One line each: the steps of a proof, the counterexample, or why it is undecided. */
TOUCHSTONE_API const char* touchstone_proof_text(const touchstone_proof* proof);
/* Of a proof by touchstone_decide: lines for touchstone_verify; "" if it has none. */
TOUCHSTONE_API const char* touchstone_proof_certificate(const touchstone_proof* proof);

/* ---- Views (docs/views.md) ---- */

/* A stack of strided views of one buffer; part 0 is nearest the buffer, the last part is the
 * visible one. Operations change the visible shape, and fail if they do not fit it. */
typedef struct touchstone_view touchstone_view;
/* Row-major. rank 0 is a scalar; its arrays may be NULL. */
TOUCHSTONE_API touchstone_status touchstone_view_new(const int64_t* shape, size_t rank,
                                                     touchstone_view** view);
/* With these strides and this offset, in elements. */
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
/* Two numbers per axis: elements before and after. */
TOUCHSTONE_API touchstone_status touchstone_view_pad(touchstone_view* view, const int64_t* padding,
                                                     size_t rank);
/* Two numbers per axis: keeps [begin, end). */
TOUCHSTONE_API touchstone_status touchstone_view_shrink(touchstone_view* view,
                                                        const int64_t* ranges, size_t rank);
/* Keeps every |step|-th element of an axis; negative steps start at its end. */
TOUCHSTONE_API touchstone_status touchstone_view_stride(touchstone_view* view, const int64_t* steps,
                                                        size_t rank);
/* Merges parts where an equal stack of fewer views is found. */
TOUCHSTONE_API touchstone_status touchstone_view_simplify(touchstone_view* view);

TOUCHSTONE_API size_t touchstone_view_parts(const touchstone_view* view);
/* The rank of a part; 0 if part >= touchstone_view_parts. */
TOUCHSTONE_API size_t touchstone_view_rank(const touchstone_view* view, size_t part);
/* The part's shape, strides, offset, and mask: two numbers per axis, [begin, end) may be read. Each
 * pointer may be NULL. */
TOUCHSTONE_API touchstone_status touchstone_view_part(const touchstone_view* view, size_t part,
                                                      int64_t* shape, int64_t* strides,
                                                      int64_t* offset, int64_t* mask);
/* The buffer element that an index reads; -1 for padding. */
TOUCHSTONE_API touchstone_status touchstone_view_at(const touchstone_view* view,
                                                    const int64_t* index, size_t rank,
                                                    int64_t* element);
/* The element as an expression of idx0, idx1, ..., and the condition for reading it; 1: always. */
TOUCHSTONE_API const char* touchstone_view_index(touchstone_view* view);
TOUCHSTONE_API const char* touchstone_view_valid(touchstone_view* view);
/* One sentence: why the stack is, or cannot become, a single view. */
TOUCHSTONE_API const char* touchstone_view_reason(touchstone_view* view);

/* ---- Kernels and verdicts (docs/kernel-json.md, docs/oracle.md) ---- */

typedef struct touchstone_kernel touchstone_kernel;
/* Parses a kernel.json and binds its variables to `count` values. */
TOUCHSTONE_API touchstone_status touchstone_kernel_json(const char* json, const char* const* names,
                                                        const int64_t* values, size_t count,
                                                        touchstone_kernel** kernel);
/* Builds a kernel from a formula such as "softmax(x[64,128])" (docs/define.md). */
TOUCHSTONE_API touchstone_status touchstone_kernel_formula(const char* formula,
                                                           touchstone_kernel** kernel);
TOUCHSTONE_API void touchstone_kernel_free(touchstone_kernel* kernel);
/* The kernel.json. */
TOUCHSTONE_API const char* touchstone_kernel_text(const touchstone_kernel* kernel);
/* Buffer 0 is the output, 1 and up are inputs. Other numbers have no elements and type NULL. */
TOUCHSTONE_API size_t touchstone_kernel_buffers(const touchstone_kernel* kernel);
TOUCHSTONE_API size_t touchstone_kernel_elements(const touchstone_kernel* kernel, size_t buffer);
TOUCHSTONE_API size_t touchstone_kernel_bytes(const touchstone_kernel* kernel, size_t buffer);
TOUCHSTONE_API const char* touchstone_kernel_type(const touchstone_kernel* kernel, size_t buffer);

/* Runs the kernel on the reference device. buffers[i] has bytes[i] bytes, at least
 * touchstone_kernel_bytes, of any alignment, in native byte order; buffers[0] is written. One
 * kernel runs at a time, on all cores. */
TOUCHSTONE_API touchstone_status touchstone_eval(const touchstone_kernel* kernel,
                                                 void* const* buffers, const size_t* bytes,
                                                 size_t count);

typedef struct touchstone_verdict touchstone_verdict;
enum {
  TOUCHSTONE_PASS = 0,
  TOUCHSTONE_FAIL = 1,
  TOUCHSTONE_UNUSABLE = 2,
  TOUCHSTONE_WEAK = 3,
  TOUCHSTONE_SUSPECT = 5 /* same as the touchstone command's exit codes */
};
/* Judges buffers[0] as the output for the other buffers. profile: the arithmetic allowed, a name or
 * JSON text; NULL: "library" for a formula that names library functions (docs/define.md), else
 * "glibc". */
TOUCHSTONE_API touchstone_status touchstone_check(const touchstone_kernel* kernel,
                                                  const char* profile, const void* const* buffers,
                                                  const size_t* bytes, size_t count,
                                                  touchstone_verdict** verdict);
/* Computes a formula: reads buffers[1], buffers[2], ..., its inputs in the order of first use, and
 * writes buffers[0]. Row-major, aligned for any type. It runs in this process and may do what the
 * process may. Guards of 4 to 64 MiB lie around each buffer: an access there ends the process by
 * SIGSEGV in the function; a changed byte of an input, or beside a buffer, is FAIL. */
typedef void (*touchstone_function)(void* const* buffers, void* context);
/* Calls a function on probes, inputs that show errors (docs/probes.md), and judges all results
 * together. profile: as in touchstone_check. */
TOUCHSTONE_API touchstone_status touchstone_judge(const char* formula, const char* profile,
                                                  touchstone_function function, void* context,
                                                  touchstone_verdict** verdict);
/* The same under the usual profile; prints the verdict, or the error, to standard output. Returns
 * the outcome; TOUCHSTONE_UNUSABLE after an error.
 *   TOUCHSTONE_JUDGE(my_softmax, "softmax(x[64,128])") */
TOUCHSTONE_API int touchstone_judge_and_print(const char* formula, touchstone_function function);
#define TOUCHSTONE_JUDGE(function, formula) touchstone_judge_and_print((formula), (function))

TOUCHSTONE_API void touchstone_verdict_free(touchstone_verdict* verdict);
TOUCHSTONE_API int touchstone_verdict_outcome(const touchstone_verdict* verdict);
/* One line, as printed by the touchstone command: "FAIL: 1 of 640 elements; first at (3, 7):
 * ... under glibc (the default)" */
TOUCHSTONE_API const char* touchstone_verdict_text(const touchstone_verdict* verdict);
/* The number of elements checked, the number wrong, and the first wrong one, -1 for none. */
TOUCHSTONE_API size_t touchstone_verdict_checked(const touchstone_verdict* verdict);
TOUCHSTONE_API size_t touchstone_verdict_wrong(const touchstone_verdict* verdict);
TOUCHSTONE_API int64_t touchstone_verdict_first(const touchstone_verdict* verdict);

/* ---- Inside a backend, with nothing more to link: what an operation read and wrote ---- */

/* An array of a backend: its name in the operation ("" for the output), its element type ("f32",
 * "i64", ...), and its row-major elements. */
typedef struct touchstone_array {
  const char* name;
  const char* type;
  const void* data;
  size_t bytes;
  size_t rank;
  int64_t shape[8];
} touchstone_array;

/* Where `name` stands first in `text` as a word that is no function; NULL: nowhere. */
static inline const char* touchstone_word_in(const char* text, const char* name) {
  const size_t size = strlen(name);
  const char* at = text;
  if (size == 0) return NULL;
  for (; (at = strstr(at, name)) != NULL; ++at) {
    static const char kWord[] = "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char after = at[size];
    if ((at == text || strchr(kWord, at[-1]) == NULL) &&
        (after == '\0' || (after != '(' && strchr(kWord, after) == NULL)))
      return at;
  }
  return NULL;
}

/* Judges `output` as the result of an operation, as "softmax(x, axis=1)", on its named inputs (in
 * any order, 15 at most). profile: as in touchstone_check. */
static inline touchstone_status touchstone_judge_arrays(const char* operation,
                                                        const touchstone_array* output,
                                                        const touchstone_array* inputs,
                                                        size_t count, const char* profile,
                                                        touchstone_verdict** verdict) {
  enum { kMost = 15, kDeclared = 8 * 21 + 40 };
  const void* buffers[kMost + 1];
  size_t bytes[kMost + 1], used = 0, i, axis;
  char done[kMost] = {0};
  const char* rest = operation;
  touchstone_kernel* kernel = NULL;
  touchstone_status status;
  char *text, *to;
  if (count > kMost) count = kMost; /* the library then refuses: too few */
  to = text = (char*)malloc(strlen(operation) + count * kDeclared + 1);
  if (text == NULL) return TOUCHSTONE_STATUS_MEMORY;
  *to = '\0';
  buffers[0] = output->data;
  bytes[0] = output->bytes;
  for (;;) { /* declares each input where it stands first */
    const char* next = NULL;
    size_t which = 0, part;
    const touchstone_array* x;
    for (i = 0; i < count; ++i) {
      const char* const at = done[i] ? NULL : touchstone_word_in(operation, inputs[i].name);
      if (at == NULL || (next != NULL && at > next)) continue;
      next = at;
      which = i;
    }
    if (next == NULL || next < rest) break; /* names that overlap are not words */
    x = &inputs[which];
    part = (size_t)(next - rest) + strlen(x->name);
    memcpy(to, rest, part);
    to += part;
    rest = next + strlen(x->name);
    *to++ = '[';
    for (axis = 0; axis < x->rank && axis < 8; ++axis)
      to += snprintf(to, 24, "%s%lld", axis ? "," : "", (long long)x->shape[axis]);
    to += snprintf(to, 16, "]:%.12s", x->type);
    done[which] = 1;
    buffers[++used] = x->data;
    bytes[used] = x->bytes;
  }
  strcpy(to, rest);
  status = touchstone_kernel_formula(text, &kernel);
  free(text);
  if (status == TOUCHSTONE_STATUS_OK)
    status = touchstone_check(kernel, profile, buffers, bytes, used + 1, verdict);
  touchstone_kernel_free(kernel);
  return status;
}

/* The same under the usual profile; prints the operation and its verdict, or the error, to standard
 * output. Returns the outcome; TOUCHSTONE_UNUSABLE after an error. */
static inline int touchstone_judge_operation(const char* operation, const touchstone_array* output,
                                             const touchstone_array* inputs, size_t count) {
  touchstone_verdict* verdict = NULL;
  const touchstone_status status =
      touchstone_judge_arrays(operation, output, inputs, count, NULL, &verdict);
  const int outcome =
      status == TOUCHSTONE_STATUS_OK ? touchstone_verdict_outcome(verdict) : TOUCHSTONE_UNUSABLE;
  printf("%s: %s\n", operation,
         status == TOUCHSTONE_STATUS_OK ? touchstone_verdict_text(verdict) : touchstone_error());
  touchstone_verdict_free(verdict);
  return outcome;
}

#ifdef __cplusplus
}
#endif

#endif
