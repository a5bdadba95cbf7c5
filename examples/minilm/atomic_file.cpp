// SPDX-License-Identifier: Apache-2.0
//
// POSIX: rename over a file of the same folder is atomic. The data is synced before the rename, so
// that a crash cannot leave a name with half its bytes.
// Thread safety: see atomic_file.hpp.
#include "minilm/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "minilm/input_error.hpp"

namespace minilm {
namespace {

constexpr mode_t kNewFileMode = 0666;  // less the umask
constexpr int kNameAttempts = 100;

OutputError cannot_write(const std::filesystem::path& path, const std::string& why) {
  return OutputError("Cannot write '" + path.string() + "': " + why + ".");
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : target_(path) {
  if (path == "-") {
    file_ = stdout;
    return;
  }
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const bool exists = std::filesystem::exists(status);
  if (std::filesystem::is_directory(status)) throw cannot_write(path, "it is a folder");
  if (exists && !std::filesystem::is_regular_file(status)) {
    file_ = std::fopen(path.c_str(), "wb");
    if (file_ == nullptr) throw cannot_write(path, std::strerror(errno));
    return;
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) throw cannot_write(path, std::strerror(errno));
  if (exists) target_ = std::filesystem::canonical(path);
  int descriptor = -1;
  for (int i = 0; i < kNameAttempts && descriptor < 0; ++i) {
    temporary_ = target_;
    temporary_ += ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    descriptor = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  if (descriptor < 0) throw cannot_write(path, std::strerror(errno));
  if (exists) ::fchmod(descriptor, static_cast<mode_t>(status.permissions()));
  file_ = ::fdopen(descriptor, "wb");
  if (file_ == nullptr) {
    const std::string why = std::strerror(errno);
    ::close(descriptor);
    ::unlink(temporary_.c_str());
    throw cannot_write(path, why);
  }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::string_view bytes) {
  if (bytes.empty()) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
    const std::string why = std::strerror(errno);
    discard();
    throw cannot_write(target_, why);
  }
}

void AtomicFile::commit() {
  const bool is_renamed = !temporary_.empty();
  bool is_good = std::fflush(file_) == 0;
  if (is_good && is_renamed) is_good = ::fsync(::fileno(file_)) == 0;
  int reason = errno;
  std::FILE* const file = std::exchange(file_, nullptr);
  if (file != stdout && std::fclose(file) != 0 && is_good) {
    is_good = false;
    reason = errno;
  }
  if (is_good && is_renamed && std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    is_good = false;
    reason = errno;
  }
  if (is_good) temporary_.clear();
  discard();
  if (!is_good) throw cannot_write(target_, std::strerror(reason));
}

void AtomicFile::discard() noexcept {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  file_ = nullptr;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

}  // namespace minilm
