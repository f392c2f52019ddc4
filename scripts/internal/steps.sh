# shellcheck shell=bash
# Sourced by the scripts beside this folder: step lines with times, one-sentence errors, and where
# things that outlive a build are kept.

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

# A command line that cannot be understood.
usage_error() {
  printf '%s: %s (see --help)\n' "$(basename "$0")" "$*" >&2
  exit 2
}

# need_value WHAT OPTION [VALUE...]: refuses an option after which nothing stands.
need_value() {
  [ -n "${3:-}" ] || usage_error "$2 needs $1"
}

# need_number LEAST OPTION [VALUE...]: refuses an option after which no whole number stands, or one
# below LEAST.
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

# Runs a command again, twice at most and after a pause, if it fails: for downloads.
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
# for each distinct STAMP. Options of pip may stand among the requirements.
make_venv() {
  local name=$1 stamp=$2
  shift 2
  local folder=$cache/$name
  if [ "$(cat "$folder/.cacheinf-stamp" 2>/dev/null)" = "$stamp" ]; then return 0; fi
  mkdir -p "$cache"
  (
    # Two scripts may be started at once.
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

# The environment of Python's whole torch, which exporting and training networks need: 5 GB.
torch_environment() {
  local requirements=$repository/scripts/models/requirements.txt
  make_venv python-torch "$(cat "$requirements")" --only-binary=:all: -r "$requirements"
}
