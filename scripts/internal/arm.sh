# shellcheck shell=bash
# Sourced after steps.sh by the scripts that build for 64-bit ARM and run the result under qemu.

compiler=aarch64-linux-gnu-g++-12
qemu=qemu-aarch64-static
arm_tools=(g++-12-aarch64-linux-gnu qemu-user-static)

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    command -v sudo >/dev/null || die "as root, please run: $*"
    sudo "$@"
  fi
}

apt() {
  with_retries as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@"
}

# Debian's cross compiler and qemu, if they are missing.
install_arm_tools() {
  if command -v "$compiler" >/dev/null && command -v "$qemu" >/dev/null; then
    step "cross compiler and qemu: there"
    return
  fi
  command -v apt-get >/dev/null ||
    die "this is not a Debian system; please install what these packages hold: ${arm_tools[*]}"
  step "installing ${arm_tools[*]}"
  apt update || die "apt-get update failed"
  apt install -y --no-install-recommends "${arm_tools[@]}" >/dev/null </dev/null ||
    die "apt-get could not install ${arm_tools[*]}"
}

# configure_for_arm SOURCE BUILD ROOT [OPTION...]: against the libraries in ROOT.
configure_for_arm() {
  local source=$1 build=$2 root=$3
  shift 3
  mkdir -p "$(dirname "$build")"
  PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root \
    cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_CXX_COMPILER="$compiler" "$@" >"$build-configure.log" 2>&1 ||
    { cat "$build-configure.log" >&2; die "the build for arm64 could not be configured"; }
}
