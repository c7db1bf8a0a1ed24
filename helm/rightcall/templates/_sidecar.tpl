{{/*
For the pods of other charts, which have this one as dependency:

    spec:
      initContainers:
        {{- include "rightcall.sidecar.container" .Subcharts.rightcall | nindent 8 }}
      volumes:
        {{- include "rightcall.sidecar.volumes" .Subcharts.rightcall | nindent 8 }}

A native sidecar: it starts before the agent, is ready before the agent starts, and outlives it, so that the last spans
are taken. Agents send to 127.0.0.1. The pod needs fsGroup 10001 where the spool is enabled.
*/}}
{{- define "rightcall.sidecar.container" -}}
{{- $container := include "rightcall.container" . | fromYaml -}}
{{- toYaml (list (set $container "restartPolicy" "Always")) -}}
{{- end -}}

{{- define "rightcall.sidecar.volumes" -}}
{{ include "rightcall.volumes" . }}
{{- if .Values.spool.enabled }}
- name: rightcall-spool
  emptyDir:
    sizeLimit: {{ .Values.spool.volumeSize }}
{{- end }}
{{- end -}}
