#include "common/base/build_id.h"

#include <elf.h>
#include <fmt/core.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cacheinf {
namespace {

constexpr char kOwner[] = "GNU";

size_t Padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

std::string ToHex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// A segment of notes repeats header, owner, content.
std::string FindIn(std::span<const unsigned char> notes) {
  ElfW(Nhdr) header;
  while (notes.size() >= sizeof(header)) {
    std::memcpy(&header, notes.data(), sizeof(header));
    const size_t content = sizeof(header) + Padded(header.n_namesz);
    const size_t end = content + Padded(header.n_descsz);
    if (end > notes.size()) break;
    const bool is_ours = header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof(kOwner) &&
                         std::memcmp(notes.data() + sizeof(header), kOwner, sizeof(kOwner)) == 0;
    if (is_ours) return ToHex(notes.subspan(content, header.n_descsz));
    notes = notes.subspan(end);
  }
  return "";
}

struct Search {
  uintptr_t address = 0;
  std::string id;
};

// Returns non-zero, which ends the search, for the program or library that the address lies in.
int FindInOwner(dl_phdr_info* object, size_t, void* search) {
  auto& [address, found] = *static_cast<Search*>(search);
  bool is_owner = false;
  std::string id;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address - begin < segment.p_memsz) is_owner = true;
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
    const auto* const notes = reinterpret_cast<const unsigned char*>(begin);
    const std::string here = FindIn({notes, segment.p_memsz});
    if (!here.empty()) id = here;
  }
  if (!is_owner) return 0;
  found = id;
  return 1;
}

}  // namespace

std::string BuildId() {
  Search search{.address = reinterpret_cast<uintptr_t>(&BuildId), .id = {}};
  dl_iterate_phdr(FindInOwner, &search);
  return search.id;
}

}  // namespace cacheinf
