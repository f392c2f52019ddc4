#ifndef CACHEINF_COMMON_BASE_FIELDS_H_
#define CACHEINF_COMMON_BASE_FIELDS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

// A struct that is written and read lists its fields once, in its own namespace:
//
//   void VisitFields(MaybeConst<Curve> auto& curve, auto& visit) {
//     visit("x", curve.x, Real{0, 1});
//     VisitEach<"y z">(visit, curve.y, curve.z);
//     visit.Check(IsAscending(curve.x), "x", "ascending");
//   }
//
// Visitors write or read them, in this order: as JSON (common/base/json_fields.h), on the wire
// (common/pair/messages.cc), in a native model file (common/model/graph/pack.cc). Who writes visits
// a struct that may be const. Bounds and checks are for readers.

namespace cacheinf {

template <typename T, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Struct>;

// Bounds of a whole number, and what a refusal says that it must be; null: what follows from them.
struct Whole {
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t most = std::numeric_limits<int64_t>::max();
  const char* range = nullptr;
  const char* type = nullptr;  // said where there is something else than whole numbers
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

// Names of fields, a space between two, taken apart when the program is compiled.
template <size_t kSize>
struct FieldNames {
  consteval FieldNames(const char (&names)[kSize]) {  // NOLINT(google-explicit-constructor)
    for (size_t i = 0; i < kSize; ++i) {
      chars[i] = names[i] == ' ' ? '\0' : names[i];
      count += chars[i] == '\0' ? 1 : 0;
    }
  }

  char chars[kSize] = {};
  size_t count = 0;
};

// Calls visit(name, field) for each: VisitEach<"x y">(visit, point.x, point.y).
template <FieldNames kNames, typename Visit, typename... Fields>
void VisitEach(Visit&& visit, Fields&... fields) {
  static_assert(kNames.count == sizeof...(fields), "a name for each field");
  const char* name = kNames.chars;
  ((visit(name, fields), name += std::char_traits<char>::length(name) + 1), ...);
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_FIELDS_H_
