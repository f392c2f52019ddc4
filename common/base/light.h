#ifndef CACHEINF_COMMON_BASE_LIGHT_H_
#define CACHEINF_COMMON_BASE_LIGHT_H_

namespace cacheinf {

// How the brightness of one picture follows from another's: level = gain · other level + offset.
struct Light {
  double gain = 1.0;
  double offset = 0.0;

  bool IsIdentity() const { return gain == 1.0 && offset == 0.0; }

  bool operator==(const Light&) const = default;
};

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_BASE_LIGHT_H_
