#ifndef CACHEINF_COMMON_BASE_FIELDS_H_
#define CACHEINF_COMMON_BASE_FIELDS_H_

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

// A struct that is written and read lists its fields once, in its own namespace:
//
//   template <MaybeConst<Curve> T, typename Visit>
//   void VisitFields(T& curve, Visit& visit) {
//     visit("x", curve.x, Real{0, 1});
//     visit.Check(IsAscending(curve.x), "x", "ascending");
//   }
//
// or, where no field has bounds, in one line:
//
//   CACHEINF_FIELDS(Curve, x, y)
//
// Visitors write or read them, in this order: as JSON (common/base/json_fields.h), on the wire
// (common/pair/messages.cc), in a native model file (common/model/graph/pack.cc). Writers may visit
// a const struct. Bounds and checks are for readers.

namespace cacheinf {

template <typename T, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Struct>;

// Bounds of a whole number, and the text of a refusal on what it must be; null: text made from the
// bounds.
struct Whole {
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t most = std::numeric_limits<int64_t>::max();
  const char* range = nullptr;
  const char* type = nullptr;  // said where there is something other than whole numbers
};
inline constexpr Whole kNotNegative = {.least = 0};

// The same for a number.
struct Real {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  const char* range = "a finite number";
  const char* type = "a number";

  bool Has(double number) const { return number >= least && number <= most; }  // false for NaN
};

// Defines VisitFields(value, visit), which visits these fields, at most 27, by their own names.
#define CACHEINF_FIELDS(Struct, ...)                                           \
  template <MaybeConst<Struct> T, typename Visit>                              \
  void VisitFields([[maybe_unused]] T& value, [[maybe_unused]] Visit& visit) { \
    __VA_OPT__(CACHEINF_RESCAN_27(CACHEINF_VISIT_EACH(__VA_ARGS__)))           \
  }
#define CACHEINF_VISIT_EACH(field, ...) \
  visit(#field, value.field);           \
  __VA_OPT__(CACHEINF_VISIT_REST CACHEINF_PARENTHESES(__VA_ARGS__))
#define CACHEINF_VISIT_REST() CACHEINF_VISIT_EACH
#define CACHEINF_PARENTHESES ()
#define CACHEINF_RESCAN_27(...) CACHEINF_RESCAN_9(CACHEINF_RESCAN_9(CACHEINF_RESCAN_9(__VA_ARGS__)))
#define CACHEINF_RESCAN_9(...) CACHEINF_RESCAN_3(CACHEINF_RESCAN_3(CACHEINF_RESCAN_3(__VA_ARGS__)))
#define CACHEINF_RESCAN_3(...) CACHEINF_RESCAN(CACHEINF_RESCAN(CACHEINF_RESCAN(__VA_ARGS__)))
#define CACHEINF_RESCAN(...) __VA_ARGS__

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_FIELDS_H_
