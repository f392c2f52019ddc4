#ifndef CACHEINF_TESTS_FUZZ_MUTATE_H_
#define CACHEINF_TESTS_FUZZ_MUTATE_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

// Damaged copies of good files, for tests of parsers.

namespace cacheinf {

// How many damaged files a test tries: CACHEINF_FUZZ_RUNS, else `usual`.
inline int FuzzRuns(int usual) {
  const char* text = std::getenv("CACHEINF_FUZZ_RUNS");
  return text == nullptr ? usual : std::max(1, std::atoi(text));
}

// Makes one to eight random changes: bits flipped, bytes replaced, ranges cut, doubled or moved,
// the end lost, pieces of another seed or of `tokens` put in.
class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, std::vector<std::string> tokens, uint64_t seed)
      : seeds_(std::move(seeds)), tokens_(std::move(tokens)), random_(seed) {}

  std::string Next() {
    std::string bytes = seeds_[Below(seeds_.size())];
    for (size_t i = 1 + Below(8); i > 0; --i) ChangeOnce(bytes);
    return bytes;
  }

 private:
  static constexpr size_t kLongestRange = 256;

  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void ChangeOnce(std::string& bytes) {
    const size_t at = Below(bytes.size() + 1);
    const size_t length = Below(std::min(kLongestRange, bytes.size() - at) + 1);
    switch (Below(7)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(Below(256));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 4:
        bytes.resize(at);
        break;
      case 5: {
        const std::string& other = seeds_[Below(seeds_.size())];
        bytes.insert(at, other.substr(Below(other.size()), Below(kLongestRange)));
        break;
      }
      default:
        if (!tokens_.empty()) bytes.insert(at, tokens_[Below(tokens_.size())]);
    }
  }

  std::vector<std::string> seeds_;
  std::vector<std::string> tokens_;
  std::mt19937_64 random_;
};

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_FUZZ_MUTATE_H_
