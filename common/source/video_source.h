#ifndef CACHEINF_COMMON_SOURCE_VIDEO_SOURCE_H_
#define CACHEINF_COMMON_SOURCE_VIDEO_SOURCE_H_

#include <memory>
#include <string>

#include "common/source/frame_source.h"

// Videos, streams, cameras and pipelines, read through OpenCV. Each function throws AbsentSource if
// the source cannot be opened or gives no frame.

namespace cacheinf {

std::unique_ptr<FrameSource> OpenVideo(const std::string& path_or_address);

// A camera's stream over a network, live: frames are stamped by the clock on arrival.
std::unique_ptr<FrameSource> OpenStream(const std::string& address, const Clock& clock);

// A video if the address states its length, as a file on a web server does; else a stream.
std::unique_ptr<FrameSource> OpenVideoOrStream(const std::string& address, const Clock& clock);

std::unique_ptr<FrameSource> OpenCamera(int number, const Clock& clock);

// Throws InputError that names the element at fault if the pipeline cannot be built at all.
std::unique_ptr<FrameSource> OpenPipeline(const std::string& pipeline, const Clock& clock);

}  // namespace cacheinf

#endif  // CACHEINF_COMMON_SOURCE_VIDEO_SOURCE_H_
