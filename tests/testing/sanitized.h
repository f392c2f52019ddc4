#ifndef CACHEINF_TESTS_TESTING_SANITIZED_H_
#define CACHEINF_TESTS_TESTING_SANITIZED_H_

namespace cacheinf {

// Whether a sanitizer watches: then everything takes several times as long, and more memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_TESTING_SANITIZED_H_
