// Is a rewrite rule sound for all integers? If not, where does it break?
#include <cstdio>

#include <touchstone/prove/prover.h>

using namespace touchstone;

int main() {
  prove::Prover prover;
  for (const char* rule : {"(c*x + y)//c -> x ; 0 <= y and y < c",  // sound
                           "(c*x + y)//c -> x ; 0 <= y"}) {         // y may be too large
    const prove::Proof proof = prover.prove(prove::read_claim(rule));
    std::printf("%s: %s", rule, std::string(name_of(proof.verdict)).c_str());
    if (proof.counterexample) std::printf(", %s", text_of(*proof.counterexample).c_str());
    std::printf("\n");
  }
}
