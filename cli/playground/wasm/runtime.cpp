// The exception support that Debian's C++ library for WASI lacks, with WebAssembly's own
// instructions, and an operator new that throws. The compiler dictates the names (Itanium C++ ABI:
// Exception Handling, level II; LLVM's WebAssembly exception handling).

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <typeinfo>

namespace __cxxabiv1 {

/// libc++abi's base of type_info objects: it has `can_catch` although nothing throws in it.
class __shim_type_info : public std::type_info {
 public:
  ~__shim_type_info() override;
  virtual void noop1() const;
  virtual void noop2() const;
  virtual bool can_catch(const __shim_type_info* thrown, void*& adjusted) const = 0;
};

}  // namespace __cxxabiv1

namespace {

/// Precedes each thrown object in memory.
struct alignas(16) Thrown {
  const std::type_info* type = nullptr;
  void* (*destroy)(void*) = nullptr;  // destructors return their object
  void* adjusted = nullptr;           // the object as the handler sees it
  Thrown* caught = nullptr;           // the previously caught exception
  int handlers = 0;                   // active handlers; negative while rethrown

  void* object() { return this + 1; }
  static Thrown* of(void* object) { return static_cast<Thrown*>(object) - 1; }
};

Thrown* innermost = nullptr;

[[noreturn]] void raise(Thrown* thrown) { __builtin_wasm_throw(0, thrown); }

/// Reads a function's handler table, as the compiler writes it.
class Reader {
 public:
  explicit Reader(const std::uint8_t* at) : at_(at) {}
  const std::uint8_t* at() const { return at_; }
  std::uint8_t byte() { return *at_++; }
  std::uint32_t number() {
    std::uint32_t value = 0;
    unsigned shift = 0;
    std::uint8_t b = 0;
    do {
      b = byte();
      value |= static_cast<std::uint32_t>(b & 0x7fU) << shift;
      shift += 7;
    } while ((b & 0x80U) != 0);
    return value;
  }
  std::int32_t signed_number() {
    std::uint32_t value = 0;
    unsigned shift = 0;
    std::uint8_t b = 0;
    do {
      b = byte();
      value |= static_cast<std::uint32_t>(b & 0x7fU) << shift;
      shift += 7;
    } while ((b & 0x80U) != 0);
    if (shift < 32 && (b & 0x40U) != 0) value |= ~std::uint32_t{0} << shift;
    return static_cast<std::int32_t>(value);
  }

 private:
  const std::uint8_t* at_;
};

/// The number of the first matching handler, 0 for none.
std::int32_t handler_of(Thrown* thrown, const std::uint8_t* table, std::uint32_t place) {
  Reader head(table);
  head.byte();  // skip the start of landing pads
  const bool typed = head.byte() != 0xff;
  const std::uint32_t to_types = typed ? head.number() : 0;
  const std::uint8_t* const types = head.at() + to_types;
  head.byte();  // skip the encoding of calls
  const std::uint32_t to_actions = head.number();
  const std::uint8_t* const actions = head.at() + to_actions;
  for (std::uint32_t i = 0; i < place; ++i) {
    head.number();
    head.number();
  }
  head.number();
  const std::uint32_t first = head.number();
  if (first == 0) return 0;
  const std::uint8_t* action = actions + first - 1;
  for (;;) {
    Reader r(action);
    const std::int32_t number = r.signed_number();
    const std::uint8_t* const link = r.at();
    if (number > 0) {
      const auto* const type =
          reinterpret_cast<const __cxxabiv1::__shim_type_info* const*>(types)[-number];
      void* adjusted = thrown->object();
      if (type == nullptr ||
          type->can_catch(static_cast<const __cxxabiv1::__shim_type_info*>(thrown->type),
                          adjusted)) {
        thrown->adjusted = adjusted;
        return number;
      }
    }
    const std::int32_t next = r.signed_number();
    if (next == 0) return 0;
    action = link + next;
  }
}

}  // namespace

extern "C" {

// Debian's compiler runtime uses a stack protector, which its C library lacks.
std::uintptr_t __stack_chk_guard = 0x2f6c1b5d;
[[noreturn]] void __stack_chk_fail() { std::abort(); }

// The only thread never ends.
int __cxa_thread_atexit(void (*)(void*), void*, void*) noexcept { return 0; }

/// A landing pad reads its handler's number from here.
struct {
  std::uint32_t place;
  const std::uint8_t* table;
  std::int32_t selector;
} __wasm_lpad_context;

int _Unwind_CallPersonality(void* thrown) {
  __wasm_lpad_context.selector = handler_of(static_cast<Thrown*>(thrown), __wasm_lpad_context.table,
                                            __wasm_lpad_context.place);
  return 0;
}

int __gxx_wasm_personality_v0(int) { return 0; }  // referenced by every function, never called

void* __cxa_allocate_exception(std::size_t bytes) noexcept {
  void* const memory = std::malloc(sizeof(Thrown) + bytes);
  if (memory == nullptr) std::abort();
  return (new (memory) Thrown)->object();
}

void __cxa_free_exception(void* object) noexcept { std::free(Thrown::of(object)); }

[[noreturn]] void __cxa_throw(void* object, std::type_info* type, void* (*destroy)(void*)) {
  Thrown* const thrown = Thrown::of(object);
  thrown->type = type;
  thrown->destroy = destroy;
  raise(thrown);
}

void* __cxa_begin_catch(void* caught) noexcept {
  auto* const thrown = static_cast<Thrown*>(caught);
  thrown->handlers = (thrown->handlers < 0 ? -thrown->handlers : thrown->handlers) + 1;
  if (innermost != thrown) {
    thrown->caught = innermost;
    innermost = thrown;
  }
  return thrown->adjusted != nullptr ? thrown->adjusted : thrown->object();
}

void* __cxa_get_exception_ptr(void* caught) noexcept {
  return static_cast<Thrown*>(caught)->adjusted;
}

void __cxa_end_catch() {
  Thrown* const thrown = innermost;
  if (thrown == nullptr) return;
  if (thrown->handlers < 0) {  // being rethrown
    if (++thrown->handlers == 0) innermost = thrown->caught;
    return;
  }
  if (--thrown->handlers > 0) return;
  innermost = thrown->caught;
  if (thrown->destroy != nullptr) thrown->destroy(thrown->object());
  __cxa_free_exception(thrown->object());
}

[[noreturn]] void __cxa_rethrow() {
  if (innermost == nullptr) std::terminate();
  innermost->handlers = -innermost->handlers;
  raise(innermost);
}

}  // extern "C"

void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto to = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(to, (bytes + to) / to * to);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
