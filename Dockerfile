# touchstone on Debian 12: `docker build -t touchstone .`, `docker run --rm touchstone simplify 'a*8//4' --var a=0..9`.
FROM debian:bookworm-slim AS build
COPY . /source
WORKDIR /source
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends git && ./dev package

FROM debian:bookworm-slim
COPY --from=build /source/build/package/packages/touchstone_*.deb /packages/
RUN apt-get update -qq \
    && apt-get install -y -qq /packages/*.deb clang-19 python3-numpy \
    && rm -rf /packages /var/lib/apt/lists/* \
    && useradd --create-home touchstone
USER touchstone
WORKDIR /home/touchstone
ENTRYPOINT ["touchstone"]
