// Files of torch.save: as written by Python's pickle, and damaged and hostile ones by hand.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>

#include "../support/traced_draws.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/files/array_file.h"
#include "touchstone/files/array_reader.h"
#include "touchstone/files/zip_archive.h"

namespace touchstone {
namespace {

using testing::HasSubstr;
using Members = std::vector<std::pair<std::string, std::string>>;

std::string archive_of(const Members& members) {
  std::vector<MemoryBytes> bytes;
  for (const auto& [name, text] : members) bytes.emplace_back(text);
  std::vector<ZipPart> parts;
  for (std::size_t i = 0; i < members.size(); ++i) parts.push_back({members[i].first, &bytes[i]});
  return zip_bytes(parts);
}

// Parts of a protocol 2 pickle.
const std::string kBegin = "\x80\x02", kEnd = ".";
std::string text(const std::string& s) {
  return std::string("X") + static_cast<char>(s.size()) + std::string(3, '\0') + s;
}
std::string small(int n) { return std::string("K") + static_cast<char>(n); }
std::string wide(std::int64_t n) {
  std::string out = "\x8a\x08";
  for (int i = 0; i < 8; ++i) out += static_cast<char>(n >> (8 * i));
  return out;
}
std::string tuple(const std::string& parts) { return "(" + parts + "t"; }
std::string storage(const std::string& type, const std::string& key, const std::string& count) {
  return tuple(text("storage") + "ctorch\n" + type + "\n" + text(key) + text("cpu") + count) + "Q";
}
std::string tensor(const std::string& where, const std::string& offset, const std::string& shape,
                   const std::string& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n" +
         tuple(where + offset + tuple(shape) + tuple(strides) + "\x89" +
               "ccollections\nOrderedDict\n)R") +
         "R";
}
std::string floats(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    const auto x = static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  return bytes;
}
const std::string kSix = storage("FloatStorage", "0", small(6));
const std::string kPlain = tensor(kSix, small(0), small(2) + small(3), small(3) + small(1));

std::string file_of(const std::string& pickle, const std::string& data = floats(6)) {
  return archive_of({{"net/data.pkl", kBegin + pickle + kEnd}, {"net/data/0", data}});
}
std::string torch_error(const std::string& bytes) {
  try {
    parse_torch(bytes, "here");
  } catch (const ParseError& e) {
    EXPECT_THAT(e.what(), HasSubstr("here"));
    return e.what();
  }
  return "no error";
}
std::vector<float> floats_of(const HostArray& a) {
  std::vector<float> out(a.bytes.size() / 4);
  std::memcpy(out.data(), a.bytes.data(), a.bytes.size());
  return out;
}

TEST(Torch, ReadsTensorsOfDictionariesAndLists) {
  const std::vector<NamedArray> one = parse_torch(file_of(kPlain), "here");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].name, "");
  EXPECT_EQ(one[0].array.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(floats_of(one[0].array), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  // A transposed view, a slice, a row repeated by stride 0, and a non-tensor.
  const std::string turned = tensor(kSix, small(0), small(3) + small(2), small(1) + small(3)),
                    part = tensor(kSix, small(2), small(2), small(2)),
                    rows = tensor(kSix, small(4), small(2) + small(2), small(0) + small(1)),
                    scalar = tensor(kSix, small(5), "", "");
  const std::string pickle = "}(" + text("a") + turned + text("b") + "](" + part + rows + "e" +
                             text("epoch") + small(3) + text("none") + "N" + text("x") + "}" +
                             small(7) + scalar + "su";
  const std::vector<NamedArray> all = parse_torch(file_of(pickle), "here");
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(floats_of(all[0].array), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(all[1].name, "b.0");
  EXPECT_EQ(floats_of(all[1].array), (std::vector<float>{2, 4}));
  EXPECT_EQ(all[2].name, "b.1");
  EXPECT_EQ(floats_of(all[2].array), (std::vector<float>{4, 5, 4, 5}));
  EXPECT_EQ(all[3].name, "x.7");
  EXPECT_TRUE(all[3].array.shape.empty());
  EXPECT_EQ(floats_of(all[3].array), std::vector<float>{5});
}

TEST(Torch, NothingIsCalledThatAFileNames) {
  const std::string system = "cos\nsystem\n" + tuple(text("touch /tmp/x")) + "R";
  EXPECT_THAT(torch_error(file_of(system)), HasSubstr("names 'os.system'"));
  EXPECT_THAT(torch_error(file_of("cbuiltins\neval\n" + tuple(text("1")) + "R")),
              HasSubstr("builtins.eval"));
  EXPECT_THAT(torch_error(file_of(text("os") + text("system") + "\x93")), HasSubstr("os.system"));
  for (const char code :
       {'i', 'o', '\x81', '\x92', '\x82', '\x83', '\x84', 'P', 'S', 'I', '0', 'l'})
    EXPECT_THAT(torch_error(file_of(std::string("(") + code + text("x"))),
                HasSubstr("instruction 0x"));
  EXPECT_THAT(torch_error(file_of("ctorch._utils\n_rebuild_tensor_v2\n)R")),
              HasSubstr("do not make a tensor"));
  EXPECT_THAT(torch_error(file_of("ctorch\nFloatStorage\n" + tuple("") + "R")),
              HasSubstr("do not make a tensor"));
  EXPECT_THAT(torch_error(file_of(")" + tuple("") + "R")), HasSubstr("without a name"));
}

TEST(Torch, ATensorLiesWithinItsStorage) {
  const auto bad = [](const std::string& offset, const std::string& shape,
                      const std::string& strides) {
    return torch_error(file_of(tensor(kSix, offset, shape, strides)));
  };
  EXPECT_THAT(bad(small(1), small(2) + small(3), small(3) + small(1)), HasSubstr("outside"));
  EXPECT_THAT(bad(small(0), small(2), small(6)), HasSubstr("outside"));
  EXPECT_THAT(bad(small(7), "", ""), HasSubstr("outside"));
  EXPECT_EQ(bad(small(6), small(0), small(1)), "no error");
  EXPECT_THAT(bad(wide(-1), small(1), small(1)), HasSubstr("is invalid"));
  EXPECT_THAT(bad(small(5), small(6), wide(-1)), HasSubstr("is invalid"));
  EXPECT_THAT(bad(small(0), wide(-2), small(1)), HasSubstr("is invalid"));
  EXPECT_THAT(bad(small(0), wide(INT64_MAX) + small(2), small(0) + small(0)),
              HasSubstr("too large"));
  EXPECT_THAT(bad(small(1), small(3), wide(INT64_MAX)), HasSubstr("too large"));
  EXPECT_THAT(bad(small(0), small(7), small(0)), HasSubstr("more elements than its storage"));
  EXPECT_THAT(bad(small(0), small(2) + small(3), small(1)), HasSubstr("numbers of strides"));
  EXPECT_THAT(bad(small(0), "N", small(1)), HasSubstr("is invalid"));
  EXPECT_THAT(torch_error(file_of(kPlain, floats(5))), HasSubstr("20 bytes, not 6 elements"));
  EXPECT_THAT(torch_error(file_of(kPlain, floats(7))), HasSubstr("28 bytes"));
  EXPECT_THAT(torch_error(archive_of({{"net/data.pkl", kBegin + kPlain + kEnd}})),
              HasSubstr("'net/data/0' is missing"));
  const std::string bools =
      tensor(storage("BoolStorage", "0", small(2)), small(0), small(2), small(1));
  EXPECT_EQ(torch_error(file_of(bools, std::string("\0\1", 2))), "no error");
  EXPECT_THAT(torch_error(file_of(bools, std::string("\0\2", 2))), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(torch_error(file_of(storage("ComplexFloatStorage", "0", small(1)))),
              HasSubstr("torch.ComplexFloatStorage"));
}

TEST(Torch, ValuesThatHoldThemselvesAndBombsAreRefused) {
  // A list and a dictionary in themselves; a pair of a pair of ... 40 deep.
  EXPECT_THAT(torch_error(file_of("]q\1h\1a")), HasSubstr("contain themselves"));
  EXPECT_THAT(torch_error(file_of("}q\1" + text("a") + "h\1s")), HasSubstr("contain themselves"));
  std::string pairs = kPlain + "q\1";
  for (int i = 1; i < 40; ++i) {
    const char from = static_cast<char>(i), to = static_cast<char>(i + 1);
    pairs += std::string("h") + from + "h" + from + "\x86q" + to;
  }
  pairs = tuple(pairs);
  EXPECT_THAT(torch_error(file_of(pairs)), HasSubstr("1,000,000 values"));
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "]";
  deep += std::string(4999, 'a');
  EXPECT_THAT(torch_error(file_of(deep)), HasSubstr("65 deep"));
  // Many tensors share one storage.
  std::string many = "](";
  for (int i = 0; i < 17; ++i) many += kPlain;
  EXPECT_THAT(torch_error(file_of(many + "e")), HasSubstr("16 times"));
  EXPECT_THAT(torch_error(file_of("}(" + text("a.b") + kPlain + text("a") + "}" + text("b") +
                                  kPlain + "su")),
              HasSubstr("two tensors 'a.b'"));
  // A pickle that unpacks to more than the limit.
  EXPECT_THAT(torch_error(archive_of({{"data.pkl", std::string((16u << 20) + 1, 'N')}})),
              HasSubstr("the limit is 16777216"));
}

TEST(Torch, WrongProgramsAreRefused) {
  for (const std::string& pickle : {std::string("a"),
                                    std::string("s"),
                                    std::string("t"),
                                    std::string("u"),
                                    std::string("e"),
                                    std::string("R"),
                                    std::string("Q"),
                                    std::string("h\5"),
                                    std::string("q\5"),
                                    std::string("b"),
                                    std::string("(a"),
                                    "}(" + text("a") + "u",
                                    std::string("\x86"),
                                    std::string("NN"),
                                    std::string("(N"),
                                    "}" + small(1) + "Na",
                                    std::string("K"),
                                    std::string("Xabc"),
                                    std::string("X\xff\xff\xff\xffx"),
                                    std::string("\x8a\x09") + std::string(9, 'x'),
                                    std::string("ctorch"),
                                    std::string("}(NNu"),
                                    text("x") + "Q",
                                    tuple(text("storage")) + "Q",
                                    std::string("\x80\x06")})
    EXPECT_NE(torch_error(file_of(pickle)), "no error") << testing::PrintToString(pickle);
  EXPECT_THAT(torch_error(archive_of({{"x", "y"}})), HasSubstr("no data.pkl"));
  EXPECT_THAT(torch_error(archive_of({{"a/data.pkl", "N."}, {"b/data.pkl", "N."}})),
              HasSubstr("two pickles"));
  EXPECT_THAT(torch_error(archive_of({{"data.pkl", "N."}, {"byteorder", "big"}})),
              HasSubstr("big-endian"));
  EXPECT_THAT(torch_error("\x80\x02\x8a\x0al\xfc"), HasSubstr("not a zip archive"));
  EXPECT_EQ(torch_error(archive_of({{"data.pkl", "N."}, {"byteorder", "little"}})), "no error");
}

TEST(Torch, DamagedFilesAreRefusedOrReadWithinTheirBounds) {
  const std::string whole = file_of("}" + text("a") + kPlain + "s");
  for (std::size_t i = 0; i < whole.size(); ++i)
    EXPECT_NE(torch_error(whole.substr(0, i)), "no error") << i;
  test::TracedDraws random(5);
  const std::string pickle = "}(" + text("a") + kPlain + text("b") + kPlain + "u";
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = kBegin + pickle + kEnd;
    for (int flips = 1 + random.index(3); flips > 0; --flips)
      damaged[random.below(damaged.size())] = static_cast<char>(random.bits());
    (void)torch_error(archive_of({{"data.pkl", damaged}, {"data/0", floats(6)}}));
  }
}

// A file from before PyTorch 1.6.
const std::string kMagic("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
std::string stream_of(const std::string& pickle, const std::string& keys, const std::string& data,
                      const std::string& little = "\x88", int version = 1001) {
  const std::string number =
      std::string("M") + static_cast<char>(version) + static_cast<char>(version >> 8);
  return kMagic + kBegin + number + kEnd + kBegin + "}(" + text("protocol_version") + number +
         text("little_endian") + little + "u" + kEnd + kBegin + pickle + kEnd + kBegin + "](" +
         keys + "e" + kEnd + data;
}
std::string counted(const std::string& bytes, int each) {
  std::string out;
  for (int i = 0; i < 8; ++i)
    out += static_cast<char>(static_cast<std::int64_t>(bytes.size()) / each >> (8 * i));
  return out + bytes;
}
std::string old_storage(const std::string& type, const std::string& key, const std::string& count,
                        const std::string& view = "N") {
  return tuple(text("storage") + "ctorch\n" + type + "\n" + text(key) + text("cpu") + count +
               view) +
         "Q";
}

TEST(Torch, ManyTensorsOfOneStorageReadItOnce) {
  constexpr std::int64_t kFloats = 1 << 22, kTensors = 20'000;
  const std::string all = old_storage("FloatStorage", "7f", wide(kFloats));
  std::string pickle = "](";
  for (std::int64_t i = 0; i < kTensors; ++i) pickle += tensor(all, wide(i), "", "");
  const std::string data = counted(std::string(std::size_t{4 * kFloats}, '\0'), 4);
  const std::string whole = stream_of(pickle + "e", text("7f"), data);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(parse_torch(whole, "here").size(), std::size_t{kTensors});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST(Torch, StreamsOfBeforeTheArchiveAreReadAsStrictly) {
  const std::string six = old_storage("FloatStorage", "7f", small(6)),
                    two = old_storage("LongStorage", "9a", small(2));
  const auto rows = [](const std::string& of) {
    return tensor(of, small(0), small(2) + small(3), small(3) + small(1));
  };
  const std::string pickle = "}(" + text("a") + rows(six) + text("b") +
                             tensor(two, small(1), "", "") + text("c") +
                             tensor(six, small(4), small(2), small(1)) + "u";
  const std::string both = text("9a") + text("7f"), longs(16, '\x5'),
                    data = counted(longs, 8) + counted(floats(6), 4);
  const std::string whole = stream_of(pickle, both, data);
  const std::vector<NamedArray> all = parse_torch(whole, "here");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].array.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(all[0].array.bytes, floats(6));
  EXPECT_EQ(all[1].array.bytes, std::string(8, '\x5'));
  EXPECT_EQ(floats_of(all[2].array), (std::vector<float>{4, 5}));
  for (std::size_t i = 0; i < whole.size(); ++i)
    EXPECT_NE(torch_error(whole.substr(0, i)), "no error") << i;

  EXPECT_THAT(torch_error(whole + "x"), HasSubstr("extra bytes after"));
  EXPECT_THAT(torch_error(stream_of(pickle, both, data, "\x89")), HasSubstr("big-endian"));
  EXPECT_THAT(torch_error(stream_of(pickle, both, data, "\x88", 1002)), HasSubstr("not 1001"));
  EXPECT_THAT(torch_error(stream_of(pickle, text("7f"), counted(floats(6), 4))),
              HasSubstr("storage '9a' is missing"));
  EXPECT_THAT(torch_error(stream_of(pickle, both + text("z"), data)), HasSubstr("no tensor named"));
  EXPECT_THAT(torch_error(stream_of(pickle, both + text("9a"), data + counted(longs, 8))),
              HasSubstr("two storages '9a'"));
  EXPECT_THAT(torch_error(stream_of(pickle, both, counted(longs, 4) + counted(floats(6), 4))),
              HasSubstr("has 4 elements, not 2"));
  EXPECT_THAT(torch_error(stream_of(rows(old_storage("FloatStorage", "7f", wide(INT64_MAX))),
                                    text("7f"), counted(floats(6), 4))),
              HasSubstr("ends before storage"));
  EXPECT_THAT(torch_error(stream_of(rows(old_storage("FloatStorage", "7f", small(6),
                                                     tuple(text("v") + small(0) + small(6)))),
                                    text("7f"), counted(floats(6), 4))),
              HasSubstr("a part of another storage; load it in PyTorch and save it again"));
  EXPECT_THAT(torch_error(stream_of(
                  "}(" + text("a") + rows(six) + text("b") +
                      tensor(old_storage("LongStorage", "7f", small(6)), small(0), "", "") + "u",
                  text("7f"), counted(floats(6), 4))),
              HasSubstr("two types or sizes"));
  EXPECT_THAT(torch_error(stream_of("cos\nsystem\n" + tuple(text("x")) + "R", "", "")),
              HasSubstr("names 'os.system'"));
  std::string many = "](";
  for (int i = 0; i < 17; ++i) many += rows(six);
  EXPECT_THAT(torch_error(stream_of(many + "e", text("7f"), counted(floats(6), 4))),
              HasSubstr("16 times"));
  test::TracedDraws random(6);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (int flips = 1 + random.index(3); flips > 0; --flips)
      damaged[15 + random.below(damaged.size() - 15)] = static_cast<char>(random.bits());
    (void)torch_error(damaged);
  }
}

TEST(Torch, FilesAreReadByTheirEndingAndNotWritten) {
  const TemporaryDirectory folder;
  for (const char* name : {"a.pt", "a.pth"}) {
    write_file_atomically(folder.path() / name, file_of("}" + text("a") + kPlain + "s"));
    EXPECT_EQ(read_array_file(folder.path() / name)[0].name, "a");
    EXPECT_THROW(write_array_file(folder.path() / name, {}), ParseError);
  }
  write_file_atomically(folder.path() / "a.bin", file_of(kPlain));
  EXPECT_EQ(read_torch_file(folder.path() / "a.bin").size(), 1U);
  EXPECT_EQ(
      read_array((folder.path() / "a.pt").string() + ":a", [](const ArrayLayout&) { return 2; })
          .bytes,
      floats(2));
}

// Python's own pickler, with classes named like PyTorch's.
constexpr const char* kScript = R"(
import collections, io, pickle, struct, sys, types, zipfile
torch = types.ModuleType("torch"); utils = types.ModuleType("torch._utils")
class FloatStorage: pass
class LongStorage: pass
for c in (FloatStorage, LongStorage): c.__module__ = "torch"; c.__qualname__ = c.__name__; setattr(torch, c.__name__, c)
def _rebuild_tensor_v2(*a): pass
def _rebuild_parameter(*a): pass
for f in (_rebuild_tensor_v2, _rebuild_parameter): f.__module__ = "torch._utils"; setattr(utils, f.__name__, f)
torch._utils = utils; sys.modules.update({"torch": torch, "torch._utils": utils})
class Storage:
    def __init__(self, *a): self.a = a
class Tensor:
    def __init__(self, *a): self.a = a
    def __reduce__(self): return (_rebuild_tensor_v2, self.a + (False, collections.OrderedDict()))
class Parameter:
    def __init__(self, t): self.t = t
    def __reduce__(self): return (_rebuild_parameter, (self.t, True, collections.OrderedDict()))
class Pickler(pickle.Pickler):
    def persistent_id(self, x):
        return ("storage", x.a[0], x.a[1], "cpu", x.a[2]) if isinstance(x, Storage) else None
class StreamPickler(Pickler):
    def persistent_id(self, x):
        return Pickler.persistent_id(self, x) + (None,) if isinstance(x, Storage) else None
s, l = Storage(FloatStorage, "0", 400), Storage(LongStorage, "1", 2)
state = collections.OrderedDict(weight=Tensor(s, 0, (100, 3), (3, 1)), bias=Parameter(Tensor(s, 300, (100,), (1,))))
state._metadata = collections.OrderedDict({"": {"version": 1}})
whole = {"model": state, "step": Tensor(l, 1, (), ()), "lr": 0.1, "big": 1 << 40, "neg": -5, "yes": True,
         "groups": [{"params": list(range(300)), "betas": (0.9, 0.999), "nothing": None}]}
for protocol in (2, 3, 4, 5):
    out = io.BytesIO(); Pickler(out, protocol).dump(whole)
    with zipfile.ZipFile(sys.argv[1] + str(protocol) + ".pt", "w") as z:
        z.writestr("archive/data.pkl", out.getvalue()); z.writestr("archive/byteorder", "little")
        z.writestr("archive/data/0", struct.pack("<400f", *range(400)))
        z.writestr("archive/data/1", struct.pack("<2q", 7, -9)); z.writestr("archive/version", "3\n")
with open(sys.argv[1] + "6.pt", "wb") as f:  # as before PyTorch 1.6
    pickle.dump(0x1950a86a20f9469cfc6c, f, protocol=2); pickle.dump(1001, f, protocol=2)
    pickle.dump(dict(protocol_version=1001, little_endian=True, type_sizes=dict(short=2, int=4, long=4)), f, protocol=2)
    StreamPickler(f, protocol=2).dump(whole); pickle.dump(["0", "1"], f, protocol=2)
    f.write(struct.pack("<q400f", 400, *range(400)) + struct.pack("<q2q", 2, 7, -9))
)";

TEST(Torch, ReadsWhatPythonPickles) {
  if (std::system("/usr/bin/python3 -c 'import zipfile' 2>/dev/null") != 0)
    GTEST_SKIP() << "no Python";
  const TemporaryDirectory folder;
  write_file_atomically(folder.path() / "make.py", kScript);
  const std::string at = folder.path().string() + "/";
  ASSERT_EQ(std::system(("/usr/bin/python3 " + at + "make.py " + at + "p").c_str()), 0);
  for (const int protocol : {2, 3, 4, 5, 6}) {
    const auto all = read_array_file(at + fmt::format("p{}.pt", protocol));
    ASSERT_EQ(all.size(), 3U) << protocol;
    EXPECT_EQ(all[0].name, "model.weight");
    EXPECT_EQ(all[0].array.shape, (std::vector<std::int64_t>{100, 3}));
    EXPECT_EQ(all[0].array.bytes, floats(300));
    EXPECT_EQ(all[1].name, "model.bias");
    EXPECT_EQ(all[1].array.bytes, floats(400).substr(1200));
    EXPECT_EQ(all[2].name, "step");
    EXPECT_EQ(all[2].array.dtype, DType::Int64);
    EXPECT_EQ(all[2].array.bytes, "\xf7" + std::string(7, '\xff'));
  }
}

TEST(Safetensors, MetadataIsKeptAndChecked) {
  const std::vector<NamedArray> arrays = {{"a", {DType::Float32, {2}, floats(2)}}};
  const Metadata notes = {{"format", "pt"}, {"\xc3\xa9", "\"x\"\n"}};
  const std::string bytes = safetensors_bytes(arrays, notes);
  EXPECT_EQ(safetensors_metadata(bytes, "here"), notes);
  EXPECT_EQ(parse_safetensors(bytes, "here").size(), 1U);
  EXPECT_TRUE(safetensors_metadata(safetensors_bytes(arrays), "here").empty());
  const auto with = [](const std::string& header) {
    std::string out(8, '\0');
    out[0] = static_cast<char>(header.size());
    return out + header;
  };
  EXPECT_THROW(safetensors_metadata(with(R"({"__metadata__":[1]})"), "here"), ParseError);
  EXPECT_THROW(safetensors_metadata(with(R"({"__metadata__":{"a":1}})"), "here"), ParseError);
  EXPECT_THROW(safetensors_metadata("x", "here"), ParseError);
}

}  // namespace
}  // namespace touchstone
