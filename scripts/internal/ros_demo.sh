# shellcheck shell=bash
# Sourced by ros1-demo and ros2-demo: their options, their build, and what they start and end.
# shellcheck source=scripts/internal/steps.sh
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

images=300
with_server=yes
while [ $# -gt 0 ]; do
  case $1 in
    --images) need_number 1 "$@"; images=$2; shift ;;
    --alone) with_server=no ;;
    --help | -h) print_help; exit 0 ;;
    *) usage_error "unknown option $1" ;;
  esac
  shift
done

cd "$repository" || exit
out=build/$(basename "$0")
mkdir -p "$out"
export CACHEINF_NAME_SERVER=$PWD/$out/name-server
node_options=(--config configs/demo.json --model configs/models/demo_segmentation.onnx)

# build OPTION --target TARGET...
build() {
  step "building robot, server and node"
  cmake --preset release "$1" >/dev/null
  cmake --build --preset release "${@:2}" >"$out/build.log" ||
    { tail -50 "$out/build.log" >&2; die "the build failed"; }
}

# start NAME COMMAND...: beside this script, until that ends.
children=()
start() {
  step "starting $1"
  "${@:2}" >"$out/$1.log" 2>&1 &
  children+=($!)
}

# And says in node_options how the node meets it.
start_server() {
  [ "$with_server" = yes ] || { node_options+=(--mode cache); return; }
  scripts/name-server start >/dev/null
  start server build/release/bin/cacheinf-server --listen "mpi:$(basename "$out")" \
    --models "$out/served-models"
  node_options+=(--mode cacheinf --server "mpi:$(basename "$out")")
}

end() {
  kill "${children[@]}" 2>/dev/null || true
  wait
  if [ "$with_server" = yes ]; then scripts/name-server stop >/dev/null || true; fi
}
trap end EXIT

# play_camera PYTHON SCRIPT
play_camera() {
  step "playing the camera: $images images"
  "$@" "$images" || { cat "$out/node.log" >&2; die "the node did not answer"; }
  step "done; $out has the logs"
}
