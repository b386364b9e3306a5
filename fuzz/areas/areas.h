#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/areas/kernel_backend.h"
#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// Looks for a point at which two expressions differ while the conditions hold: text of the point,
/// or nothing. lib/prove gives one; the areas do without.
using Refute = std::function<std::optional<std::string>(const std::string& a, const std::string& b,
                                                        const std::string& when)>;

/// Index expressions: the simplifier against evaluation of what was written.
///   value        the simplified text has the value of what was written, at every point
///   defined      and divides by zero nowhere but where that did
///   refused      only what divides by zero at every point is refused
///   given        so has the expression simplified under assumptions, where they hold
///   answer       so has the answer to the question, whose bounds hold, and which has no more parts
///                than what was written
///   bounds       no value is outside the bounds
///   tight        which are attained where each variable is read once, divisions outermost
///   steps        its derivation, where every step is explained, passes the checker
///   claim        of what is nearly right the checker of certificates accepts what is so
///   program      Program and the straight-line code give the same value
///   code         and so has what kernels compute, where they are of constants
///   reads back   the simplified text parses to the node it came from
///   swapped      operands exchanged where that changes nothing give the same node
///   history      what was asked before changes nothing
///   substitute   a part replaced by a variable, then put back, has the same value, and so has all
///                of it with every variable replaced at once
///   proof        `refute` finds no counterexample (one case in 8192)
std::unique_ptr<Area> make_symbolic_area(Refute refute = {});

/// Movement chains: trackers against arrays of addresses, moved step by step.
///   refused      no operation that fits is refused
///   accepted     and none is taken that does not
///   address      the tracker reads what the array says, at every index
///   expression   so do the address and validity as expressions, by index and by flat index
///   merged       so does the tracker after simplify(), which has no more views, and one whose
///                views are merged after each operation
///   composed     so does the second half of the chain on top of the first
///   substituted  so does the tracker of which variables are others less a number; what may leave
///                the bounds of a variable is refused
///   strides      real_strides, real_size and axis_is_masked are as the addresses say, and so is
///                the range of a view's addresses
///   inverse      an inverse undoes the tracker; one is there where one must be
///   contraction  of a reshape, the groups of old axes make the new ones wherever groups can, and
///                those of reduced axes are not empty
///   movement     to_movement_ops makes the tracker again
///   text         the machine interface reads what it writes
std::unique_ptr<Area> make_view_area();

/// Seeds of drawn layouts, from 1 on: the first is a variant's.
inline constexpr std::uint64_t kDrawnLayouts = 6;

/// Backends under test: the candidate, the same with other options, and one that is too slow for
/// every case.
struct KernelBackends {
  std::unique_ptr<KernelBackend> candidate;
  std::vector<std::unique_ptr<KernelBackend>> variants;
  /// Variants with other seeds of their layouts, which are asked of cases that are checked in full:
  /// a layout is drawn by the kernel's own hash, so that a smaller one has another.
  std::vector<std::unique_ptr<KernelBackend>> layouts;
  std::unique_ptr<KernelBackend> slow;  // may be null
  bool judge_all = false;        // the oracle is asked of every answer: of the reference's own
  std::uint64_t vary_every = 4;  // a variant runs one case in so many
};

/// Kernels with their inputs, as JSON on one line: a backend against the interpreted device.
///   verdict      the answer is legal: the reference's bits, or what the oracle allows (which is
///                asked in any case of one case in 16)
///   broken       a foreign backend does not crash, hang, or reach out of its buffers
///   unusable     what it answers is an answer, and to this question
///   refused      a device of ours takes every kernel
///   options      the answer is legal under other options of the compiler (of one case in
///                `vary_every`, under those that the case's text chooses)
///   slow         so is that of the slow backend (one case in 64)
///   poison       it is as legal when all that no index reads is NaN, and what lies beside the
///                buffers is not to be touched, which else ends the process (one case in 5)
///   in place     the answer is as legal where its memory is an input's, and what lies behind it
///                stays as it was (one case in 12)
///   bound        variables, where there are several, may become numbers one by one, in any order
///                (one case in 2)
///   round trip   kernel.json reads back as the same kernel
///   threads      over one more, long axis the reference has the same bits in 1, 2 and 7 threads
///                (one case in 512)
///   truth        the reference's answer to a small kernel is what the kernel is by definition, in
///                exact arithmetic (one case in 32)
///   refuses      where one answer is left, the oracle takes it and none that differs in one bit
///                of an element; and nowhere one that is far beyond what rounding may do (one case
///                in 24)
///   reads        our own code for it reads each element no more often than its reduces need, each
///                run once for what it depends on (reads_check.h; one case in 8)
///   inside       that code, run step by step, touches nothing outside of buffers and its own
///                arrays, also where no answer shows it; laid out by drawn opts, too (code_run.h;
///                one case in 16)
///   profiles     the oracle takes what a profile allows by its own words, and nothing a little
///                beyond (profile_check.h; one case in 16)
///   casts, sums  of numbers that are drawn for them are what they are by definition
///                (number_check.h; one case in 16)
std::unique_ptr<Area> make_kernel_area(KernelBackends backends);

/// Compilers on which programs run as well: libtcc, where it is built in, for one case in four;
/// All: clang -O0 in three threads, too, for one in 256.
enum class Compilers : std::uint8_t { None, Libtcc, All };

/// Programs over LazyBuffers on the interpreted device.
///   fusion       statements realized one by one, at the end, where the program says so, or each in
///                memory of its own, at each OPT and with switches that the text chooses
///                (device/config.h), of inputs that are read where they lie on the host at any
///                strides, replayed by a TinyJit that noted it on other values, and with up to four
///                sizes that are variables, where its movements allow them, give the bits that
///                kernels made without lib/lazy give (by_definition)
///   tcc, clang   run by a compiler in the way that the text chooses every kernel's answer is
///                legal, and where each has the reference's bits, so has the program
///   work         no reduce is computed twice
///   both         so have two values that are wanted at once (one case in 8)
///   kept         what contiguous() asked for gets memory
///   refused      no statement that fits is refused
std::unique_ptr<Area> make_lazy_area(Compilers compilers = Compilers::Libtcc);

/// The same programs, scheduled by rewriting (SCHEDULER=kernelize), with its switches.
///   fusion       realized at the end, where the program says so, each statement in memory of its
///                own, with sizes that are variables, and with the switches and the limit of
///                buffers that the text chooses, they give the bits that kernels made without
///                lib/lazy and lib/kernelize give
///   tcc, clang   as above
///   work         by ranges no more elements are loaded and stored than without, and a kernel more
///                moves fewer bytes, but where the program gathers; and no more terms are reduced,
///                but of constants and where padding is (schedule_work.h)
///   multi        on 1 to 5 devices, sharded along any axes, the bits are those of one device that
///                adds up the shards in the declared order, naively and as a ring
///   both         so have two values that are wanted at once (one case in 8)
///   graph        as a graph of UOps of which two values are wanted, with memory written in place,
///                it has the values that it has by definition (graph_check.h; one case in 16)
///   limit        no kernel has more buffers than MAX_KERNEL_BUFFERS, but what one op reads
///   refused      no statement that fits is refused
std::unique_ptr<Area> make_kernelize_area(Compilers compilers = Compilers::Libtcc);

/// Kernels that read a few elements of a buffer of more than 2^31 or 2^32, by definition
/// (far_case.h).
///   reference    the reference's answer
///   tcc, clang   those of compilers
///   long         a loop of more than 2^31 iterations over what does not move, on clang -O2 (one
///                case in 512)
///   refused      no kernel is refused
std::unique_ptr<Area> make_far_area(Compilers compilers = Compilers::Libtcc);

/// Graphs of UOps and random rules for them: lib/uop against matching and rewriting as defined
/// (definitions/rewriting.h).
///   refused      rules that can never match or be called are refused, and no others
///   table        nodes of equal parts are one node, and none outlives the case
///   toposort     lists sources before users, left to right, with a gate and without
///   match        of every node: the rule, its result, and every call of a function before it
///   rewrite      the graph, sources first or outer nodes first; every entry of a map, composed
///                with the map before it; what is substituted
///   told         a recorder hears of every use of a rule, in order
///   metadata     goes along with what changes, each origin once
///   endless      what does not end is an error that names a rule to blame and a node that comes
///                back, and nothing else is
std::unique_ptr<Area> make_rewrite_area();

/// Calls of single functions, layers, losses and optimizers of the tensor library, in every type,
/// against what they are defined as (call_check.h): refused, form, value, gradient; and programs
/// over Tensors in float64, differentiated.
///   gradient     is what differences say, wherever the function is smooth
///   early        realizing each statement at once changes no bit
///   refused      no statement that fits is refused
std::unique_ptr<Area> make_tensor_area();

/// Files of arrays: .npy, .npz and .safetensors, against the formats as they are defined
/// (definitions/file_formats.h), in the ways in which writers differ.
///   refused      a file that is right is read
///   read         as the arrays that it holds
///   taken        and one that is not, by one damage, is refused
///   written      a file of ours holds the arrays, for a reader of the definition's
///   file         so it is on the disk, array by array (one case in 16, as the next)
///   part         of which the first elements are read alone
std::unique_ptr<Area> make_file_area();

/// Streams of random numbers by seed and place, against a second Threefry.
///   bits         the stream's words
///   uniform      float32 numbers of them, on the host and by a kernel that draws them
///   integers     randint stays in its range and takes the words in turn
///   shuffle      a permutation holds every number once, and equal seeds give equal ones
std::unique_ptr<Area> make_random_area();

}  // namespace touchstone::fuzz
