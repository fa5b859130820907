# SPDX-License-Identifier: Apache-2.0
# docker build -t diecast . && docker run --rm diecast: a verified all-reduce on the default pod. Other flags of diecast-pod
# follow the name of the image; results leave it with -v "$PWD/out:/out" and --out run.
FROM debian:12 AS build
WORKDIR /src
COPY . .
# dpkg-dev and file are what CPack finds the libraries of a package with.
RUN scripts/setup && apt-get install -y --no-install-recommends dpkg-dev file
RUN cmake --preset release -DDIECAST_TESTS=OFF && cmake --build build
RUN cd build && cpack -G DEB

FROM debian:12
COPY --from=build /src/build/diecast_*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/diecast_*.deb && rm -rf /var/lib/apt/lists /tmp/*.deb
WORKDIR /out
ENTRYPOINT ["diecast-pod"]
CMD ["--ranks", "cube", "--bytes", "16KiB"]
