# The operator's image: the command line, the operator, and the agent that it brings into the databases' pods.
#
#   docker build -t registry.example/stateward:0.1.0 .
#
# The base is held by its digest, what is installed by hashes. For the same layers each time see docs/supply-chain.md. The
# agent takes this image's interpreter along, so the base must be of glibc.
ARG BASE=docker.io/library/python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
FROM ${BASE} AS build
COPY requirements/build.lock requirements/runtime.lock /
RUN python3 -m venv --without-pip /opt/stateward \
 && python3 -m venv --without-pip /opt/build
RUN pip --python /opt/build install --no-cache-dir --require-hashes -r /build.lock \
 && pip --python /opt/stateward install --no-cache-dir --no-compile --require-hashes -r /runtime.lock
COPY pyproject.toml README.md LICENSE /src/
COPY charts /src/charts
COPY src /src/src
# Compiled files that are checked by content, or not at all, are the same whenever they are made.
RUN cd /src && /opt/build/bin/hatchling build -t wheel -d /dist \
 && pip --python /opt/stateward install --no-cache-dir --no-compile --no-deps /dist/*.whl \
 && rm -f /opt/stateward/lib/python3*/site-packages/stateward-*.dist-info/direct_url.json \
 && PYTHONHASHSEED=0 python3 -m compileall -q --invalidation-mode unchecked-hash /opt/stateward/lib

FROM ${BASE}
COPY --from=build /opt/stateward /opt/stateward
ENV PATH=/opt/stateward/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["stateward"]
