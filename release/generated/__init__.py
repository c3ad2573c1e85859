"""Generated files that describe the installation: values of the chart, plain manifests, metrics, alerts, bundles."""
