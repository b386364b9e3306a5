// Does nothing. Linked with -ffast-math, it brings start-up code that sets flush-to-zero.
extern "C" int touchstone_fast_math_object() { return 0; }
