/* touchstone.h from C99: every group of functions once. */
#include <stdio.h>
#include <string.h>
#include <touchstone.h>

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "not so: %s (%s)\n", what, touchstone_error());
}
#define EXPECT(x) expect((x), #x)

static void simplify(void) {
  touchstone_scope* scope = NULL;
  touchstone_simplified* s = NULL;
  EXPECT(touchstone_scope_new(&scope) == TOUCHSTONE_STATUS_OK);
  EXPECT(touchstone_scope_variable(scope, "a", "0", "10") == TOUCHSTONE_STATUS_OK);
  EXPECT(touchstone_simplify(scope, "a*8//4", &s) == TOUCHSTONE_STATUS_OK);
  EXPECT(strcmp(touchstone_simplified_text(s), "a*2") == 0);
  touchstone_simplified_free(s);
  touchstone_scope_free(scope);
}

static void prove(void) {
  touchstone_proof* proof = NULL;
  EXPECT(touchstone_prove("x*0 -> 1", NULL, &proof) == TOUCHSTONE_STATUS_OK);
  EXPECT(touchstone_proof_verdict(proof) == TOUCHSTONE_REFUTED);
  touchstone_proof_free(proof);
}

static void views(void) {
  const int64_t shape[] = {2, 3}, flat[] = {6}, index[] = {5};
  int64_t element = 0;
  touchstone_view* view = NULL;
  EXPECT(touchstone_view_new(shape, 2, &view) == TOUCHSTONE_STATUS_OK);
  EXPECT(touchstone_view_reshape(view, flat, 1) == TOUCHSTONE_STATUS_OK);
  EXPECT(touchstone_view_at(view, index, 1, &element) == TOUCHSTONE_STATUS_OK);
  EXPECT(element == 5);
  touchstone_view_free(view);
}

static void kernels(void) {
  float out[2] = {0, 0}, in[2] = {3, -4};
  void* buffers[] = {out, in};
  const void* judged[] = {out, in};
  const size_t bytes[] = {sizeof out, sizeof in};
  touchstone_kernel* kernel = NULL;
  touchstone_verdict* verdict = NULL;
  EXPECT(touchstone_kernel_formula("relu(x[2])", &kernel) == TOUCHSTONE_STATUS_OK);
  EXPECT(touchstone_eval(kernel, buffers, bytes, 2) == TOUCHSTONE_STATUS_OK);
  EXPECT(out[0] == 3 && out[1] == 0);
  EXPECT(touchstone_check(kernel, NULL, judged, bytes, 2, &verdict) == TOUCHSTONE_STATUS_OK);
  EXPECT(touchstone_verdict_outcome(verdict) == TOUCHSTONE_PASS);
  touchstone_verdict_free(verdict);
  touchstone_kernel_free(kernel);
}

static void arrays(void) {
  const float x[6] = {1, 2, 3, 4, 5, 6}, w[3] = {1, 10, 100}, right[2] = {321, 654},
              wrong[2] = {321, 655};
  const touchstone_array in[] = {{"w", "f32", w, sizeof w, 2, {3, 1}},
                                 {"x", "f32", x, sizeof x, 2, {2, 3}}};
  touchstone_array out = {"", "f32", right, sizeof right, 2, {2, 1}};
  touchstone_verdict* verdict = NULL;
  EXPECT(touchstone_judge_operation("matmul(x, w)", &out, in, 2) == TOUCHSTONE_PASS);
  out.data = wrong;
  EXPECT(touchstone_judge_operation("matmul(x, w)", &out, in, 2) == TOUCHSTONE_FAIL);
  EXPECT(touchstone_judge_arrays("matmul(x, w)", &out, in, 2, "glibc", &verdict) ==
         TOUCHSTONE_STATUS_OK);
  touchstone_verdict_free(verdict);
  /* An array that the operation lacks, and one that it has and is not given. */
  EXPECT(touchstone_judge_operation("matmul(x, v)", &out, in, 2) == TOUCHSTONE_UNUSABLE);
  EXPECT(touchstone_judge_operation("relu(x)", &out, in, 2) == TOUCHSTONE_UNUSABLE);
}

int main(void) {
  arrays();
  simplify();
  prove();
  views();
  kernels();
  EXPECT(touchstone_simplify(NULL, "a", NULL) == TOUCHSTONE_STATUS_INPUT);
  EXPECT(strlen(touchstone_error()) > 0);
  return failures != 0;
}
