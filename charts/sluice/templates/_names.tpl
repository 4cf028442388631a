{{/*
  Names, labels and images. Each takes a dict of `root` (the chart's .) and `component`. In all templates, strings from
  values and from the release are quoted: a name may be 2, on or null, which YAML would not read as strings.
*/}}

{{- define "sluice.name" -}}
{{ .root.Release.Name }}-{{ .component }}
{{- end }}

{{- /* The selector of pods. It never changes during the life of a release. */}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /*
  The selector of all nodes, for policies and monitoring: those of the release, and those that the operator creates for
  single Gateways.
*/}}
{{- define "sluice.nodeSelector" -}}
{{- if .Values.gatewayApi.dedicatedNodes.enabled -}}
matchLabels:
  {{- omit (include "sluice.selector" (dict "root" . "component" "gateway") | fromYaml) "app.kubernetes.io/component" | toYaml | nindent 2 }}
matchExpressions:
  - key: app.kubernetes.io/component
    operator: In
    values: [gateway, gateway-fleet]
{{- else -}}
matchLabels:
  {{- include "sluice.selector" (dict "root" . "component" "gateway") | nindent 2 }}
{{- end }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
app.kubernetes.io/part-of: sluice
{{- with .root.Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The metadata of an object in the release's namespace; `suffix` is added to its name. */}}
{{- define "sluice.metadata" -}}
name: {{ printf "%s%s" (include "sluice.name" .) (.suffix | default "") | quote }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- include "sluice.labels" . | nindent 2 }}
{{- end }}

{{- /* `image`: repository, tag and digest. */}}
{{- define "sluice.image" -}}
{{- $repository := list .root.Values.image.registry .image.repository | compact | join "/" }}
{{- if .image.digest }}{{ $repository }}@{{ .image.digest }}
{{- else }}{{ $repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* Namespaces to read if not all are read. The release's own is always included. */}}
{{- define "sluice.namespaces" -}}
{{ prepend .Values.namespaces .Release.Namespace | uniq | toJson }}
{{- end }}

{{- /* Names of cluster-scoped objects. */}}
{{- define "sluice.wideName" -}}
{{ .root.Release.Namespace }}-{{ .root.Release.Name }}-{{ .component }}
{{- end }}

{{- /* The namespace of Secrets that only the operator reads. With Roles only, it is the release's namespace by default. */}}
{{- define "sluice.privateNamespace" -}}
{{- if .Values.operator.privateNamespace.name }}{{ .Values.operator.privateNamespace.name }}
{{- else if .Values.namespaces }}{{ .Release.Namespace }}
{{- else }}{{ include "sluice.wideName" (dict "root" . "component" "keys") }}
{{- end }}
{{- end }}

{{- /* Whether the chart creates the private namespace; empty: no. */}}
{{- define "sluice.makesNamespace" -}}
{{- if and .Values.operator.privateNamespace.create (not .Values.namespaces) (ne (include "sluice.privateNamespace" .) .Release.Namespace) }}true{{ end }}
{{- end }}

{{- /* Whether the chart creates an IngressClass: not with Roles only, because it is cluster-scoped. */}}
{{- define "sluice.hasIngressClass" -}}
{{- if and .Values.ingressClass.create (not .Values.namespaces) }}true{{ end }}
{{- end }}

{{- /* The class that Ingresses name. Without an IngressClass, it is the class of the installation. */}}
{{- define "sluice.ingressClass" -}}
{{- if include "sluice.hasIngressClass" . }}{{ .Values.ingressClass.name | default .Values.class }}
{{- else }}{{ .Values.class }}
{{- end }}
{{- end }}

{{- /* Whether the cluster has the CRDs of the Gateway API. `helm template` learns it by --api-versions. */}}
{{- define "sluice.hasGatewayApi" -}}
{{- if .Capabilities.APIVersions.Has "gateway.networking.k8s.io/v1/GatewayClass" }}true{{ end }}
{{- end }}

{{- /* Whether the chart creates a GatewayClass: not with Roles only, because it is cluster-scoped. */}}
{{- define "sluice.hasGatewayClass" -}}
{{- if and .Values.gatewayClass.create (not .Values.namespaces) (include "sluice.hasGatewayApi" .) }}true{{ end }}
{{- end }}

{{- /* The class that Gateways name. Without a GatewayClass, it is the class of the installation. */}}
{{- define "sluice.gatewayClass" -}}
{{- if include "sluice.hasGatewayClass" . }}{{ .Values.gatewayClass.name | default .Values.class }}
{{- else }}{{ .Values.class }}
{{- end }}
{{- end }}

{{- /* Whether the Gateways of the GatewayClass have nodes of their own. */}}
{{- define "sluice.hasDedicatedClass" -}}
{{- if and .Values.gatewayApi.dedicatedNodes.enabled (include "sluice.hasGatewayClass" .) }}true{{ end }}
{{- end }}

{{- /* The second class, whose Gateways share the release's nodes; empty: the chart does not create it. */}}
{{- define "sluice.sharedClass" -}}
{{- if and .Values.gatewayClass.shared (include "sluice.hasGatewayClass" .) }}{{ include "sluice.gatewayClass" . }}-shared{{ end }}
{{- end }}

{{- /* Whether there is a webhook: not with Roles only, because it is cluster-scoped and requires a ClusterRole. */}}
{{- define "sluice.hasWebhook" -}}
{{- if and .Values.webhook.enabled (not .Values.namespaces) }}true{{ end }}
{{- end }}
