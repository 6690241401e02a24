# The image contains Node.js, the libraries that it loads, the packages and the source: no shell, no package manager, no other
# program. docs/deploy.md says how to run it. Build it with: docker build -t latchkey .
ARG BUILD_IMAGE=docker.io/library/node:24-trixie-slim

FROM ${BUILD_IMAGE} AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# Versions are not pinned: Debian's mirrors keep only the newest.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends binutils libatomic1 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json .npmrc LICENSE ./
# TypeScript is removed: npm installs it as an optional peer of a package.
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/typescript node_modules/@typescript node_modules/.bin
# The pinned Node.js without its symbols, and the libraries that it and the packages' native modules load.
RUN mkdir -p /image/usr/local/bin && strip -o /image/usr/local/bin/node node_modules/node-linux-*/bin/node && \
  install -D -m 644 node_modules/node-linux-*/LICENSE /image/usr/share/doc/node/copyright && \
  rm -rf node_modules/node-linux-* && \
  find /image/usr/local/bin/node node_modules -type f '(' -name node -o -name '*.node' ')' -exec ldd '{}' + | \
  grep -oE '/[^ ]+\.so[^ ]*' | sort -u | xargs cp --dereference --parents --target-directory /image
# The licences of Debian's libraries, and their versions in the file that scanners read.
RUN cp --dereference --parents --target-directory /image /etc/os-release && mkdir -p /image/var/lib/dpkg/status.d && \
  for package in libc6 libgcc-s1 libstdc++6 libatomic1; do \
    cp --dereference --parents --target-directory /image "/usr/share/doc/$package/copyright" && \
    dpkg --status "$package" > "/image/var/lib/dpkg/status.d/$package" || exit 1; \
  done
COPY bin ./bin
COPY assets ./assets
COPY src ./src
RUN chmod -R a+rX,go-w . && install -d /image/etc/latchkey && install -d -m 1777 /image/tmp && \
  echo 'latchkey:x:10001:10001::/var/lib/latchkey:/nonexistent' > /image/etc/passwd && \
  echo 'latchkey:x:10001:' > /image/etc/group && echo 'hosts: files dns' > /image/etc/nsswitch.conf && \
  install -d -o 10001 -g 10001 /image/var/lib/latchkey /image/var/lib/latchkey/data node_modules/.cache
# Runs the server once, so that the image contains its compiled code and starts faster.
USER 10001:10001
WORKDIR /tmp
# hadolint ignore=DL3001
RUN node='/image/usr/local/bin/node --min-semi-space-size=8 --max-semi-space-size=8 /app/bin/latchkey.cjs' && \
  { $node serve --database sqlite::memory: & } && \
  for _ in {1..100}; do $node health --ready && break; sleep 0.2; done && kill $! && wait $!

FROM scratch
COPY --from=build /image/ /
COPY --from=build /app/ /app/
# The address is set here, because loopback is unreachable from outside the container.
ENV LATCHKEY_CONFIG=/etc/latchkey/latchkey.yml LATCHKEY_HOST=0.0.0.0 HOME=/var/lib/latchkey MALLOC_ARENA_MAX=2
WORKDIR /var/lib/latchkey
VOLUME /var/lib/latchkey/data
EXPOSE 8080
USER 10001:10001
# Liveness, not readiness: a restart does not repair the database.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
  CMD ["/usr/local/bin/node", "--min-semi-space-size=8", "--max-semi-space-size=8", "/app/bin/latchkey.cjs", "health"]
ENTRYPOINT ["/usr/local/bin/node", "--min-semi-space-size=8", "--max-semi-space-size=8", "/app/bin/latchkey.cjs"]
CMD ["serve"]
