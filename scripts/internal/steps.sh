# shellcheck shell=bash
# Sourced by the scripts in the folder above: step lines with times, one-sentence errors, and the
# place for things that outlive a build.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${CACHEINF_CACHE:-$HOME/.cache/cacheinf}
system_python=/usr/bin/python3

# Seconds since the outermost script began: scripts that call each other count from one zero.
export CACHEINF_STARTED=${CACHEINF_STARTED:-$(date +%s)}

step() {
  printf '[%4ds] %s\n' "$(($(date +%s) - CACHEINF_STARTED))" "$*"
}

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Refuses a command line.
usage_error() {
  printf '%s: %s (see --help)\n' "$(basename "$0")" "$*" >&2
  exit 2
}

# need_value WHAT OPTION [VALUE...]: refuses an option without a value.
need_value() {
  [ -n "${3:-}" ] || usage_error "$2 needs $1"
}

# need_number LEAST OPTION [VALUE...]: refuses an option without a whole number, or with one below
# LEAST.
need_number() {
  need_value "a number" "${@:2}"
  if ! [[ $3 =~ ^(0|[1-9][0-9]{0,8})$ ]] || [ "$3" -lt "$1" ]; then
    usage_error "$2 must be a whole number from $1 to 999999999, got $3"
  fi
}

# The comment at the top of the calling script is its help.
print_help() {
  awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
}

# Repeats a command that fails, at most twice and after a pause: for downloads.
with_retries() {
  local attempt
  for attempt in 1 2 3; do
    "$@" && return 0
    [ "$attempt" = 3 ] && return 1
    step "failed; trying again in $((attempt * 5)) s"
    sleep $((attempt * 5))
  done
}

# make_venv NAME STAMP REQUIREMENT...: a Python environment under the cache folder, installed once
# for each distinct STAMP. Requirements may include options for pip.
make_venv() {
  local name=$1 stamp=$2
  shift 2
  local folder=$cache/$name
  if [ "$(cat "$folder/.cacheinf-stamp" 2>/dev/null)" = "$stamp" ]; then return 0; fi
  mkdir -p "$cache"
  (
    # Two scripts may run at once.
    flock 9
    if [ "$(cat "$folder/.cacheinf-stamp" 2>/dev/null)" = "$stamp" ]; then exit 0; fi
    step "installing into $folder: $*"
    if [ ! -x "$folder/bin/pip" ]; then
      rm -rf "$folder"
      "$system_python" -m venv "$folder" ||
        die "no Python environment could be made in $folder: is python3-venv installed?"
    fi
    with_retries "$folder/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
      --no-input "$@" || die "pip could not install: $*"
    printf '%s' "$stamp" >"$folder/.cacheinf-stamp"
  ) 9>"$folder.lock"
}

# The environment with all of Python's torch, for exporting and training networks: 5 GB.
torch_environment() {
  local requirements=$repository/scripts/models/requirements.txt
  make_venv python-torch "$(cat "$requirements")" --only-binary=:all: -r "$requirements"
}
