{{/*
For the pods of charts that depend on this one:

    metadata:
      annotations:
        {{- include "rightcall.sidecar.annotations" .Subcharts.rightcall | nindent 8 }}
    spec:
      initContainers:
        {{- include "rightcall.sidecar.container" .Subcharts.rightcall | nindent 8 }}
      volumes:
        {{- include "rightcall.sidecar.volumes" .Subcharts.rightcall | nindent 8 }}

A native sidecar: it is ready before the agent starts and stops after it, so that the last spans are received.
Agents send to 127.0.0.1. If the spool is enabled, the pod needs fsGroup 10001.
*/}}
{{- define "rightcall.sidecar.annotations" -}}
{{- /* The configuration is read at the start, so pods have to restart where it changes; the collector reloads rules itself. */ -}}
checksum/rightcall: {{ include "rightcall.config" . | sha256sum }}
{{- end -}}

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
