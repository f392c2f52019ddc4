#ifndef CACHEINF_COMMON_LINK_USER_NAME_H_
#define CACHEINF_COMMON_LINK_USER_NAME_H_

#include <pwd.h>
#include <unistd.h>

#include <string>

namespace cacheinf {

// Whose process this is. Open MPI's name server tells a name only to processes of its owner.
inline std::string UserName() {
  const passwd* const user = getpwuid(geteuid());
  return user != nullptr ? user->pw_name : std::to_string(geteuid());
}

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_LINK_USER_NAME_H_
