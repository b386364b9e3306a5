# Writes OUTPUT, a C++ file that defines the bytes of INPUT as `NAME` and their count as `NAME_size`.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)"
                     "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}"
     "#include <cstddef>\n"
     "extern const unsigned char ${NAME}[];\n"
     "extern const std::size_t ${NAME}_size;\n"
     "const unsigned char ${NAME}[] = {\n${bytes}};\n"
     "const std::size_t ${NAME}_size = sizeof ${NAME};\n")
