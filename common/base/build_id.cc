#include "common/base/build_id.h"

#include <elf.h>
#include <fmt/core.h>
#include <link.h>

#include <cstddef>
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

// Called for the program first; returns non-zero so that it is not called for its libraries.
int FindInProgram(dl_phdr_info* program, size_t, void* found) {
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = program->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* const notes =
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
        reinterpret_cast<const unsigned char*>(program->dlpi_addr + segment.p_vaddr);
    const std::string id = FindIn({notes, segment.p_memsz});
    if (!id.empty()) *static_cast<std::string*>(found) = id;
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  std::string id;
  dl_iterate_phdr(FindInProgram, &id);
  return id;
}

std::string BitsId() { return CACHEINF_VERSION; }

}  // namespace cacheinf
