// From objects to what --emit asks for, with LLVM's linker and archiver as programs.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "target/target.h"

namespace mcc {

// The embedded file `name` ("src/model.c", "x86_64-linux-gnu/threads.o"). Throws Error when mcc was built without it.
std::string_view runtime_blob(const std::string& name);
std::string blob_triple(const Target& target);  // under which the target's runtime objects are embedded; throws Error
                                                // for an unsupported one
// The runtime's objects for the target written into `folder`; `program`: those of the stand-alone program too.
std::vector<std::filesystem::path> write_runtime(const std::filesystem::path& folder, const Target& target,
                                                 bool program);

using Files = std::vector<std::filesystem::path>;
void link_shared(const Files& objects, const Files& runtime, const Target& target, const std::filesystem::path& scratch,
                 const std::filesystem::path& out);
void link_archive(const Files& objects, const std::filesystem::path& out);
void link_object(const Files& objects, const std::filesystem::path& out);
void link_program(const Files& objects, const Target& target, const std::filesystem::path& out);
// A program that runs `artifact` (model.so, model.a or model.o), made of the embedded main program and it.
void link_runner(const std::filesystem::path& artifact, const Target& target, const std::filesystem::path& scratch,
                 const std::filesystem::path& out);

}  // namespace mcc
