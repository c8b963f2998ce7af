# syntax=docker/dockerfile:1
# docker buildx build --platform linux/amd64,linux/arm64 -t sluice .
# What is built is JavaScript and WebAssembly, the same for every architecture: it is built once, on the builder's own.
FROM --platform=$BUILDPLATFORM node:24-trixie-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY server/package.json server/
COPY client/package.json client/
COPY dashboard/package.json dashboard/
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
COPY . .
RUN deploy/image/rootfs.sh /rootfs

# No shell, no package manager; uid 65532.
FROM gcr.io/distroless/nodejs24-debian13:nonroot
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="sluice" \
      org.opencontainers.image.description="A distributed API rate limiter: Envoy's protocol, gRPC and HTTP" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
# /bin is a link in this image: files are copied one by one, a folder would not fit over it.
COPY --from=build /rootfs/app /app
COPY --from=build /rootfs/bin/ratelimit /bin/ratelimit
COPY --from=build /rootfs/bin/sluice /bin/sluice
USER 65532:65532
WORKDIR /app
# HTTP, gRPC, and the admin port, which listens on loopback unless ADMIN_HOST says otherwise.
EXPOSE 8080 8081 8082
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=90s --retries=3 CMD ["/bin/sluice", "health"]
ENTRYPOINT ["/bin/ratelimit"]
