{{/*
Variables that name the user API's Postgres and Redis servers. Passwords come from Secrets: Kubernetes replaces $(NAME)
in a variable by the value of the variable NAME.
*/}}

{{- define "sluice.databaseEnv" -}}
{{- $secret := include "sluice.postgresSecret" . }}
{{- if .Values.postgres.enabled }}
{{- include "sluice.secretEnv" (dict "name" "POSTGRES_PASSWORD" "secret" $secret "key" "password") }}
- name: SLUICE_USER_API_DATABASE_URL
  value: {{ printf "postgres://users:$(POSTGRES_PASSWORD)@%s-postgres:5432/users" .Release.Name | quote }}
{{- else }}
{{- include "sluice.secretEnv" (dict "name" "SLUICE_USER_API_DATABASE_URL" "secret" $secret "key" "url") }}
{{- end }}
{{- end }}

{{- define "sluice.redisEnv" -}}
{{- $secret := include "sluice.redisSecret" . }}
{{- $host := include "sluice.redisHost" . }}
{{- $scheme := ternary "rediss" "redis" (and .Values.redis.tls (not .Values.redis.enabled)) }}
{{- if $host }}
{{- if $secret }}
{{- include "sluice.secretEnv" (dict "name" "REDIS_PASSWORD" "secret" $secret "key" "password") }}
{{- end }}
- name: SLUICE_USER_API_REDIS_URL
  value: {{ printf "%s://%s%s:%s" $scheme (ternary ":$(REDIS_PASSWORD)@" "" (ne $secret "")) $host (include "sluice.redisPort" .) | quote }}
- name: SLUICE_USER_API_REDIS_PREFIX
  value: {{ include "sluice.wideName" (dict "root" . "component" "user-api") | quote }}
{{- end }}
{{- end }}
