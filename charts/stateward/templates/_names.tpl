{{/* Name of the release's objects. The labels stay: policies of clusters and the command line find the operator's pods by them. */}}
{{- define "stateward.name" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride }}
{{- else if or (not .Values.nameOverride) (contains .Values.nameOverride .Release.Name) }}
{{- .Release.Name }}
{{- else }}
{{- printf "%s-%s" .Release.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Account of the operator; that of the Jobs that look for missing members has the suffix -detection. */}}
{{- define "stateward.account" -}}
{{- if eq .Values.serviceAccount.name "default" }}
{{- fail "serviceAccount.name must not be `default`: all pods that name no account would get the rights of the operator" }}
{{- else if .Values.serviceAccount.name }}
{{- .Values.serviceAccount.name }}
{{- else if .Values.serviceAccount.create }}
{{- include "stateward.name" . }}
{{- else }}
{{- fail "serviceAccount.create is false: name the account that exists in serviceAccount.name" }}
{{- end }}
{{- end }}

{{/* Labels of every object. */}}
{{- define "stateward.labels" -}}
app.kubernetes.io/name: stateward
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels by which the operator's pods are found. */}}
{{- define "stateward.selector" -}}
app.kubernetes.io/name: stateward
app.kubernetes.io/component: operator
{{- end }}

{{/* What the operator may do with the clusters and what they are made of. */}}
{{- define "stateward.rules" -}}
# The clusters: people write the spec; the operator writes the status, annotations and finalizers.
- apiGroups: [stateward.dev]
  resources: [osclusters, esclusters, fdbclusters]
  verbs: [get, list, watch, patch]
- apiGroups: [stateward.dev]
  resources: [osclusters/status, esclusters/status, fdbclusters/status]
  verbs: [patch]
- apiGroups: [stateward.dev]
  resources: [osclusters/finalizers, esclusters/finalizers, fdbclusters/finalizers]
  verbs: [update]
# What is inside the databases: people write it; the operator writes the status, and a finalizer where it cleans up.
- apiGroups: [stateward.dev]
  resources: [searchobjects, searchusers, searchsnapshots]
  verbs: [get, list, watch, patch]
- apiGroups: [stateward.dev]
  resources: [searchsnapshotschedules]
  verbs: [get, list, watch]
# The restore of a cluster that begins with a snapshot is created by the operator.
- apiGroups: [stateward.dev]
  resources: [searchrestores]
  verbs: [get, list, watch, create, patch]
- apiGroups: [stateward.dev]
  resources: [searchobjects/status, searchusers/status, searchsnapshots/status, searchsnapshotschedules/status, searchrestores/status]
  verbs: [patch]
# The sizes of pools: people and autoscalers write them; the operator writes the status.
- apiGroups: [stateward.dev]
  resources: [poolscales]
  verbs: [list, watch]
- apiGroups: [stateward.dev]
  resources: [poolscales/status]
  verbs: [patch]
{{- if .Values.verifySnapshots }}
# The throw-away clusters in which snapshots are verified, and their repositories.
- apiGroups: [stateward.dev]
  resources: [osclusters, esclusters]
  verbs: [create, delete]
- apiGroups: [stateward.dev]
  resources: [searchobjects]
  verbs: [create]
- apiGroups: [stateward.dev]
  resources: [searchsnapshotschedules/finalizers]
  verbs: [update]
{{- end }}
# What a cluster is made of.
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [configmaps, persistentvolumeclaims, secrets, services]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
# Who may connect to the members.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
# Pods are made by their StatefulSets; the operator chooses when one goes.
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch, patch, delete]
# Whether a service account that pods of clusters name is allowed for them: a label on it says so.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get]
# Pods of workloads that ask for it restart when data that they use changes.
- apiGroups: [apps]
  resources: [daemonsets]
  verbs: [get, list, watch, patch]
# The same, and the dashboards and exporters of clusters.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch, delete]
{{- if .Values.routes }}
# The routes that clusters ask for.
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [get, create, patch, delete]
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [get, create, patch, delete]
{{- end }}
- apiGroups: [secrets-store.csi.x-k8s.io]
  resources: [secretproviderclasses]
  verbs: [get]
# Installations of packages. The operator acts as the service account that an installation names, in its namespace. Nothing
# else may be impersonated: no user, no group. `resourceNames` narrows it to accounts of certain names.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [impersonate]
  {{- with .Values.installationAccounts }}
  resourceNames: {{ toJson . }}
  {{- end }}
# Metadata of what packages have made is watched, to see what others change. Objects are read with the account's rights.
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [list, watch]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [list, watch]
- apiGroups: [stateward.dev]
  resources: [swinstallations]
  verbs: [get, list, watch, patch]
- apiGroups: [stateward.dev]
  resources: [swinstallations/status]
  verbs: [patch]
- apiGroups: [stateward.dev]
  resources: [swpackages]
  verbs: [get, list, watch]
- apiGroups: [batch]
  resources: [cronjobs, jobs]
  verbs: [list, watch]
# Says what it does.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{/* What the operator reads of the machines: it belongs to no namespace. */}}
{{- define "stateward.machineRules" -}}
# Zones, taints and drained nodes; whether volumes can grow.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses]
  verbs: [list, watch]
# Whether a priority class that pods name exists: a warning of the webhook.
- apiGroups: [scheduling.k8s.io]
  resources: [priorityclasses]
  verbs: [get]
# Packages for all namespaces.
- apiGroups: [stateward.dev]
  resources: [swclusterpackages]
  verbs: [get, list, watch]
{{- end }}

{{/* What the Jobs that look for missing members may do with the clusters. */}}
{{- define "stateward.detectionRules" -}}
# The one cluster that it looks at, and the annotation that it leaves there.
- apiGroups: [stateward.dev]
  resources: [osclusters, esclusters, fdbclusters]
  verbs: [get, patch]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [list]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list]
# The certificate with which the operator enters a secured database: a Secret of each cluster, read by its name.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}
{{- define "stateward.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Whether the operator tells users what databases report: the one of a wave does not. Empty if not. */}}
{{- define "stateward.databaseView" -}}
{{- if and .Values.databaseView (not .Values.wave) -}}true{{- end -}}
{{- end -}}
