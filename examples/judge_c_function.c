/* Judges a function on inputs that show errors: no reference values, no tolerance. */
#include <math.h>
#include <touchstone.h>

static void softmax(void* const* buffers, void* context) {
  float* y = buffers[0];
  const float* x = buffers[1];
  (void)context;
  for (int row = 0; row < 64; ++row, x += 128, y += 128) {
    float most = x[0], sum = 0;
    for (int i = 1; i < 128; ++i) most = fmaxf(most, x[i]);
    for (int i = 0; i < 128; ++i) sum += y[i] = expf(x[i] - most);
    for (int i = 0; i < 128; ++i) y[i] /= sum;
  }
}

int main(void) { return TOUCHSTONE_JUDGE(softmax, "softmax(x[64,128])"); }
