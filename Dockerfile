# The operator's image: the command line, the operator, and the agent that it brings into the databases' pods.
#
#   docker build -t registry.example/stateward:0.1.0 .
#
# What it depends on is held by hashes; the agent takes this image's interpreter along, so the base must be of glibc.
FROM python:3.13-slim AS build
RUN python3 -m venv --without-pip /opt/stateward
COPY requirements/runtime.lock /
RUN pip --python /opt/stateward install --no-cache-dir --require-hashes -r /runtime.lock
COPY pyproject.toml README.md LICENSE /src/
COPY charts /src/charts
COPY src /src/src
RUN pip --python /opt/stateward install --no-cache-dir --no-deps /src

FROM python:3.13-slim
COPY --from=build /opt/stateward /opt/stateward
ENV PATH=/opt/stateward/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["stateward"]
