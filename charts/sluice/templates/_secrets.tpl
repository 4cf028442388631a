{{/* Secrets: named by the values, or made once by the chart and then kept. */}}

{{- /* If no existing Secret is set, the operator creates this Secret and the Secret of the authority. */}}
{{- define "sluice.pushSecret" -}}
{{ .Values.push.existingSecret | default (printf "%s-push" .Release.Name) }}
{{- end }}

{{- define "sluice.adminSecret" -}}
{{ .Values.admin.existingSecret | default (printf "%s-admin" .Release.Name) }}
{{- end }}

{{- define "sluice.operatorSecret" -}}
{{ .Values.operator.existingSecret | default (printf "%s-operator" .Release.Name) }}
{{- end }}

{{- define "sluice.gatewaySecret" -}}
{{ .Values.userApi.existingSecret | default (printf "%s-user-api-gateway" .Release.Name) }}
{{- end }}

{{- define "sluice.consumerSecret" -}}
{{ .Values.userApi.route.consumer.existingSecret | default (printf "%s-user-api-key" .Release.Name) }}
{{- end }}

{{- define "sluice.postgresSecret" -}}
{{ .Values.postgres.existingSecret | default (printf "%s-postgres" .Release.Name) }}
{{- end }}

{{- /* Empty if Redis requires no password. */}}
{{- define "sluice.redisSecret" -}}
{{- if .Values.redis.existingSecret }}{{ .Values.redis.existingSecret }}
{{- else if .Values.redis.enabled }}{{ .Release.Name }}-redis
{{- end }}
{{- end }}

{{- /* Empty if there is no Redis. */}}
{{- define "sluice.redisHost" -}}
{{- if .Values.redis.enabled }}{{ .Release.Name }}-redis{{ else }}{{ .Values.redis.host }}{{ end }}
{{- end }}

{{- define "sluice.redisPort" -}}
{{ ternary 6379 .Values.redis.port .Values.redis.enabled }}
{{- end }}

{{- /* Whether the user API has a Postgres server; empty: no. */}}
{{- define "sluice.hasPostgres" -}}
{{- if or .Values.postgres.enabled .Values.postgres.existingSecret }}true{{ end }}
{{- end }}

{{- /* The entry `key` of the Secret `name` in the cluster, or else a new one, in base64. */}}
{{- define "sluice.keptEntry" -}}
{{- $found := lookup "v1" "Secret" .root.Release.Namespace .name }}
{{- get ($found.data | default dict) .key | default (randAlphaNum 32 | b64enc) }}
{{- end }}
