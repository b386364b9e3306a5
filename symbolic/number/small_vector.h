#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "touchstone/symbolic/number/pool.h"

namespace touchstone::symbolic {

/// A vector that stores up to N items inline and more in pooled memory. Items must be relocatable
/// by memcpy, as Int and its aggregates are; so is a SmallVector.
template <class T, std::uint32_t N = 6>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  explicit SmallVector(std::size_t n) : SmallVector(n, T()) {}
  SmallVector(std::size_t n, const T& item) { assign(n, item); }
  template <std::input_iterator From>
  SmallVector(From from, From to) {
    assign(from, to);
  }
  SmallVector(std::initializer_list<T> items) : SmallVector(items.begin(), items.end()) {}
  SmallVector(const SmallVector& other) { append(other.begin(), other.size()); }
  SmallVector(SmallVector&& other) noexcept { steal(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.size());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      drop();
      steal(other);
    }
    return *this;
  }
  ~SmallVector() { drop(); }

  T* data() { return room_ > N ? heap() : in_place(); }
  const T* data() const { return const_cast<SmallVector*>(this)->data(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return *data(); }
  const T& front() const { return *data(); }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  bool operator==(const SmallVector& other) const {
    return size_ == other.size_ && std::equal(begin(), end(), other.begin());
  }

  void reserve(std::size_t n) {
    if (n > room_) grow(n);
  }
  void clear() {
    std::destroy_n(data(), size_);
    size_ = 0;
  }
  void resize(std::size_t n) {
    while (size_ > n) pop_back();
    reserve(n);
    while (size_ < n) std::construct_at(data() + size_++);
  }
  void push_back(const T& item) { emplace_back(T(item)); }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == room_) {
      T item{std::forward<Args>(args)...};  // the arguments may refer to items in here
      grow(std::size_t{size_} + 1);
      return *std::construct_at(data() + size_++, std::move(item));
    }
    return *std::construct_at(data() + size_++, std::forward<Args>(args)...);
  }
  void pop_back() { std::destroy_at(data() + --size_); }
  template <std::input_iterator From>
  void assign(From from, From to) {
    clear();
    for (; from != to; ++from) emplace_back(*from);
  }
  void assign(std::size_t n, const T& item) {
    const T kept = item;
    clear();
    reserve(n);
    while (size_ < n) emplace_back(kept);
  }
  T* insert(const T* at, T item) {
    const auto i = static_cast<std::size_t>(at - data());
    if (size_ == room_) grow(std::size_t{size_} + 1);
    T* const place = data() + i;
    move_bytes(place + 1, place, size_ - i);
    ++size_;
    return std::construct_at(place, std::move(item));
  }
  template <std::input_iterator From>
  void insert(const T* at, From from, From to) {
    auto i = static_cast<std::size_t>(at - data());
    if (i == size_) {
      for (; from != to; ++from) emplace_back(*from);
    } else {
      for (; from != to; ++from) insert(data() + i++, T(*from));
    }
  }
  T* erase(const T* at) { return erase(at, at + 1); }
  T* erase(const T* from, const T* to) {
    const auto i = static_cast<std::size_t>(from - data());
    const auto n = static_cast<std::size_t>(to - from);
    T* const place = data() + i;
    std::destroy_n(place, n);
    move_bytes(place, place + n, size_ - i - n);
    size_ -= static_cast<std::uint32_t>(n);
    return place;
  }

 private:
  T* in_place() { return reinterpret_cast<T*>(bytes_); }
  T* heap() {
    T* block;
    std::memcpy(&block, bytes_, sizeof block);  // NOLINT(bugprone-sizeof-expression): the pointer
    return block;
  }
  static void move_bytes(T* to, const T* from, std::size_t n) {
    if (n > 0) std::memmove(static_cast<void*>(to), static_cast<const void*>(from), n * sizeof(T));
  }
  void append(const T* items, std::size_t n) {
    reserve(size_ + n);
    std::uninitialized_copy_n(items, n, data() + size_);
    size_ += static_cast<std::uint32_t>(n);
  }
  void grow(std::size_t least) {
    const std::size_t room = std::max(least, std::size_t{room_} * 2);
    T* const block = static_cast<T*>(pool_take(room * sizeof(T)));
    move_bytes(block, data(), size_);
    if (room_ > N) pool_give(heap(), room_ * sizeof(T));
    std::memcpy(bytes_, &block, sizeof block);  // NOLINT(bugprone-sizeof-expression): the pointer
    room_ = static_cast<std::uint32_t>(room);
  }
  void drop() {
    std::destroy_n(data(), size_);
    if (room_ > N) pool_give(heap(), room_ * sizeof(T));
  }
  void steal(SmallVector& other) noexcept {
    size_ = other.size_;
    room_ = other.room_;
    if (room_ > N)
      std::memcpy(bytes_, other.bytes_, sizeof(T*));
    else
      move_bytes(in_place(), other.in_place(), size_);
    other.size_ = 0;
    other.room_ = N;
  }

  std::uint32_t size_ = 0, room_ = N;
  static_assert(N * sizeof(T) >= sizeof(T*));
  alignas(T) alignas(8) std::byte bytes_[N * sizeof(T)];
};

}  // namespace touchstone::symbolic
