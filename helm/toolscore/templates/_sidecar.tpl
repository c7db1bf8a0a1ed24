{{/*
For the pods of other charts, which have this one as dependency:

    spec:
      initContainers:
        {{- include "toolscore.sidecar.container" .Subcharts.toolscore | nindent 8 }}
      volumes:
        {{- include "toolscore.sidecar.volumes" .Subcharts.toolscore | nindent 8 }}

A native sidecar: it starts before the agent, is ready before the agent starts, and outlives it, so that the last spans
are taken. Agents send to 127.0.0.1. The pod needs fsGroup 10001 where the spool is enabled.
*/}}
{{- define "toolscore.sidecar.container" -}}
{{- $container := include "toolscore.container" . | fromYaml -}}
{{- toYaml (list (set $container "restartPolicy" "Always")) -}}
{{- end -}}

{{- define "toolscore.sidecar.volumes" -}}
{{ include "toolscore.volumes" . }}
{{- if .Values.spool.enabled }}
- name: toolscore-spool
  emptyDir:
    sizeLimit: {{ .Values.spool.volumeSize }}
{{- end }}
{{- end -}}
