#include <cstdio>

#include <touchstone.h>

int main() { std::puts(touchstone_version()); }
