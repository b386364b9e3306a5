// States in memory, with metadata, from PyTorch files, on DISK.
#include "touchstone/tensor/state.h"

#include "tensor_check.h"
#include "touchstone/base/file.h"
#include "touchstone/files/array_reader.h"
#include "touchstone/files/zip_archive.h"
#include "touchstone/tensor/nn.h"

namespace touchstone {
namespace {

using Floats = std::vector<float>;

nn::StateDict some_state(float first) {
  Tensor w = Tensor::from({{first, first + 1}, {first + 2, first + 3}});
  return {{"w", w.set_requires_grad()}, {"steps", Tensor::from({std::int64_t{7}})}};
}

TEST(StateFiles, GoThroughMemoryWithTheirMetadata) {
  register_devices();
  const std::string bytes = nn::state_bytes(some_state(1), {{"format", "pt"}});
  const nn::StateDict other = some_state(5);
  nn::load_state_bytes(bytes, other);
  EXPECT_EQ(other[0].tensor.read<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_TRUE(other[0].tensor.requires_grad());
  EXPECT_THROW(nn::load_state_bytes(bytes.substr(0, 40), other), ParseError);
  EXPECT_THROW(nn::load_state_bytes(bytes, {other[0]}), Error);
  nn::load_state_bytes(bytes, {other[0]}, nn::Strict::No);
  const TemporaryDirectory folder;
  const auto file = folder.path() / "a.safetensors";
  nn::save_state(file, some_state(1), {{"epoch", "3"}});
  EXPECT_EQ(nn::load_metadata(file), (Metadata{{"epoch", "3"}}));
  nn::save_state(file, some_state(1));
  EXPECT_TRUE(nn::load_metadata(file).empty());
  EXPECT_THROW(nn::save_state(folder.path() / "a.npz", some_state(1), {{"a", "b"}}), Error);
  write_file_atomically(file, "short");
  EXPECT_THROW(nn::load_metadata(file), ParseError);
}

TEST(StateFiles, AreReadFromFilesOfAnyKind) {
  register_devices();
  const TemporaryDirectory folder;
  nn::save_state(folder.path() / "a.npz", some_state(1));
  const nn::StateDict read = nn::load_tensors(folder.path() / "a.npz");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].tensor.read<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_FALSE(read[0].tensor.requires_grad());
  EXPECT_EQ(read[1].tensor.read<std::int64_t>(), std::vector<std::int64_t>{7});
  // {"w": a transposed float tensor of shape (2, 2)}, protocol 2.
  const std::string zeros(3, '\0');
  const std::string text = "X\7" + zeros + "storage";
  const std::string pickle = "\x80\2}X\1" + zeros + "wctorch._utils\n_rebuild_tensor_v2\n((" +
                             text + "ctorch\nFloatStorage\nX\1" + zeros + "0X\3" + zeros +
                             "cpuK\4tQK" + std::string(1, '\0') + "(K\2K\2t(K\1K\2t\x89}tRs.";
  const Floats values = {1, 2, 3, 4};
  const std::string data(reinterpret_cast<const char*>(values.data()), 16);
  const MemoryBytes program(pickle), storage(data);
  const std::vector<ZipPart> parts = {{"x/data.pkl", &program}, {"x/data/0", &storage}};
  for (const char* name : {"net.pt", "net.bin"})
    write_file_atomically(folder.path() / name, zip_bytes(parts));
  const nn::StateDict torch = nn::torch_load(folder.path() / "net.bin");
  ASSERT_EQ(torch.size(), 1U);
  EXPECT_EQ(torch[0].name, "w");
  EXPECT_EQ(torch[0].tensor.read<float>(), (Floats{1, 3, 2, 4}));
  const nn::StateDict target = {some_state(9)[0]};
  nn::load_state(folder.path() / "net.pt", target);
  EXPECT_EQ(target[0].tensor.read<float>(), (Floats{1, 3, 2, 4}));
}

TEST(StateFiles, OnDiskArePartsOfAFile) {
  register_devices();
  const TemporaryDirectory folder;
  const auto file = folder.path() / "a.safetensors";
  nn::save_state(file, some_state(1));
  const nn::StateDict mapped = nn::map_tensors(file);
  ASSERT_EQ(mapped.size(), 2U);
  const Tensor& w = mapped[0].name == "w" ? mapped[0].tensor : mapped[1].tensor;
  EXPECT_TRUE(w.device().starts_with("DISK:"));
  EXPECT_EQ(w.to("CPU").read<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(w.slice({{.begin = 1}}).to("CPU").read<float>(), (Floats{3, 4}));
  EXPECT_EQ(w.slice({{}, {.step = -1}}).to("CPU").read<float>(), (Floats{2, 1, 4, 3}));
  EXPECT_EQ((w.slice({{}, {.begin = 1}}).to("CLANG") * 2).read<float>(), (Floats{4, 8}));
}

TEST(StateFiles, ElementsAreWrittenIntoAFile) {
  register_devices();
  const TemporaryDirectory folder;
  const auto file = folder.path() / "a.bin";
  nn::write_elements(file, Tensor::from({1.0F, 2.0F}) * 2, 4);
  EXPECT_EQ(read_file(file).size(), 12U);
  nn::write_elements(file, Tensor::from({9.0F}));
  const std::string bytes = read_file(file);
  Floats got(3);
  std::memcpy(got.data(), bytes.data(), 12);
  EXPECT_EQ(got, (Floats{9, 2, 4}));
  nn::write_elements(file, Tensor::from({5.0F}), 4);
  EXPECT_EQ(read_file(file).size(), 12U);
  EXPECT_THROW(nn::write_elements(file, Tensor::from({5.0F}), -1), Error);
  EXPECT_THROW(nn::write_elements(folder.path() / "no" / "a", Tensor::from({5.0F})), SystemError);
  EXPECT_THROW(nn::write_elements(folder.path(), Tensor::from({5.0F})), SystemError);
}

}  // namespace
}  // namespace touchstone
