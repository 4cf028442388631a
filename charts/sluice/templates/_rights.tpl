{{/* RBAC rules of operator and admin API. files/*-role.yaml has the rules, with default names of objects. */}}

{{- /*
  The rules of `component`, with this installation's own object names. Only entries of `resourceNames` are replaced, as
  a whole: a replacement within the text would also change a namespace called sluice-operator.
*/}}
{{- define "sluice.rights" -}}
{{- $class := .root.Values.class }}
{{- /* The names that the operator uses for its own objects in the home namespace. */}}
{{- $own := ternary "sluice-operator" (printf "sluice-operator-%s" $class) (eq $class "sluice") }}
{{- $push := include "sluice.pushSecret" .root }}
{{- $names := dict
      "sluice-webhook" (include "sluice.wideName" (dict "root" .root "component" "webhook"))
      "sluice-operator" $own
      "sluice-operator-document" (printf "%s-document" $own)
      "sluice-push" $push
      "sluice-push-authority" (printf "%s-authority" $push) }}
{{- $sections := .root.Files.Get (printf "files/%s-role.yaml" .component) | fromYaml }}
{{- range $rules := $sections }}
{{- range $rule := $rules }}
{{- if hasKey $rule "resourceNames" }}
{{- $renamed := list }}
{{- range $rule.resourceNames }}{{ $renamed = append $renamed (get $names . | default .) }}{{ end }}
{{- $_ := set $rule "resourceNames" $renamed }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $sections }}
{{- end }}
