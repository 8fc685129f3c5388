// SPDX-License-Identifier: Apache-2.0
// What the fake driver takes for a cubin.
#pragma once
#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

namespace fake {

// The smallest ELF file with these kernels. capability: 90 for sm_90a; 0: fits any device.
inline std::string make_cubin(int capability, const std::vector<std::string>& kernels) {
  std::string names(1, '\0');
  for (const std::string& kernel : kernels) names += kernel + '\0';
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_flags = static_cast<Elf64_Word>(capability) << 8;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  Elf64_Shdr section{};
  section.sh_type = SHT_STRTAB;
  section.sh_offset = sizeof header + sizeof section;
  section.sh_size = names.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + std::string(reinterpret_cast<const char*>(&section), sizeof section) + names;
}

}  // namespace fake
