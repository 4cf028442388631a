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

{{- /* Restricted Pod Security for a container, with its image. */}}
{{- define "sluice.container" -}}
image: {{ include "sluice.image" . | quote }}
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
