{{/* Settings common to all pods. */}}

{{- /* Restricted Pod Security, for a pod. */}}
{{- define "sluice.podSecurity" -}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* Restricted Pod Security for a container, with its image: the image of its part, or a full `reference`. */}}
{{- define "sluice.container" -}}
{{- if .reference -}}
image: {{ .reference | quote }}
{{- else -}}
image: {{ include "sluice.image" . | quote }}
{{- end }}
imagePullPolicy: {{ .root.Values.image.pullPolicy | quote }}
{{- /* A process that fails at its start logs the reason in its last line, which Kubernetes copies into the pod's status. */}}
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- /* Scheduling of pods: `values` are those of the part. Pods are spread, so that the failure of one machine does not stop a part. */}}
{{- define "sluice.placement" -}}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
topologySpreadConstraints:
  {{- $part := . }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sluice.selector" $part | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}

{{- /*
  Environment variables from the `env` of a part. Helm reads numbers in a file as floating-point numbers and prints one
  million as 1e+06; as JSON it is 1000000.
*/}}
{{- define "sluice.env" -}}
{{- range $name, $value := . }}
- name: {{ $name | quote }}
  value: {{ ternary $value (toJson $value) (kindIs "string" $value) | quote }}
{{- end }}
{{- end }}

{{- /*
  Plugins of users in a pod of an operator, a node or an admin API: each image is a volume with the package in its
  folder `package`. It is an image volume, or a folder into which an init container of the image copies the package.
*/}}
{{- define "sluice.pluginEnv" -}}
{{- $folders := list }}
{{- range $index, $image := .Values.plugins.images }}
{{- $folders = append $folders (printf "/plugins/%d/package" $index) }}
{{- end }}
{{- with $folders }}
- name: SLUICE_PLUGINS
  value: {{ join "," . | quote }}
{{- end }}
{{- end }}

{{- define "sluice.pluginMounts" -}}
{{- range $index, $image := .Values.plugins.images }}
- name: plugin-{{ $index }}
  mountPath: /plugins/{{ $index }}
  readOnly: true
{{- end }}
{{- end }}

{{- define "sluice.pluginVolumes" -}}
{{- range $index, $image := .Values.plugins.images }}
- name: plugin-{{ $index }}
  {{- if $.Values.plugins.imageVolumes }}
  image:
    reference: {{ $image | quote }}
    pullPolicy: {{ $.Values.image.pullPolicy | quote }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
{{- end }}

{{- /* `root` and the `values` of the part, whose resources the init containers may use. */}}
{{- define "sluice.pluginCopies" -}}
{{- $part := . }}
{{- if not .root.Values.plugins.imageVolumes }}
{{- range $index, $image := .root.Values.plugins.images }}
- name: plugin-{{ $index }}
  {{- include "sluice.container" (dict "root" $part.root "reference" $image) | nindent 2 }}
  # A container that is started again copies over the files of its predecessor.
  command: [cp, -R, -f, /package, /plugins/{{ $index }}]
  resources:
    {{- toYaml $part.values.resources | nindent 4 }}
  volumeMounts:
    - name: plugin-{{ $index }}
      mountPath: /plugins/{{ $index }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A variable from a Secret: `name`, `secret`, `key`. */}}
{{- define "sluice.secretEnv" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret | quote }}
      key: {{ .key }}
{{- end }}

{{- /* An HTTP probe: `path`, `port`, `failures`. */}}
{{- define "sluice.probe" -}}
httpGet:
  path: {{ .path }}
  port: {{ .port }}
periodSeconds: {{ .period }}
timeoutSeconds: 3
failureThreshold: {{ .failures }}
{{- end }}
