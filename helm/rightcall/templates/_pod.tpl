{{/* The collector's container, the same for gateway and sidecar. */}}
{{- define "rightcall.container" -}}
name: rightcall
image: {{ include "rightcall.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: [run, --config, /etc/rightcall/config/config.yaml]
securityContext:
  {{- include "rightcall.securityContext" . | nindent 2 }}
env:
  - name: PYTHONDONTWRITEBYTECODE
    value: "1"
  {{- range $index, $entry := .Values.exporterHeaders }}
  - name: RIGHTCALL_HEADER_{{ $index }}
    valueFrom:
      secretKeyRef:
        name: {{ $entry.secret }}
        key: {{ $entry.key }}
  {{- end }}
  {{- with .Values.judgeApiKey }}
  {{- if .secret }}
  - name: RIGHTCALL_JUDGE_API_KEY
    valueFrom:
      secretKeyRef:
        name: {{ .secret }}
        key: {{ .key }}
  {{- end }}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  {{- if ne .Values.routing "kafka" }}
  - {name: otlp-grpc, containerPort: {{ .Values.ports.grpc }}, protocol: TCP}
  - {name: otlp-http, containerPort: {{ .Values.ports.http }}, protocol: TCP}
  {{- end }}
  - {name: metrics, containerPort: {{ .Values.ports.metrics }}, protocol: TCP}
  - {name: admin, containerPort: {{ .Values.ports.admin }}, protocol: TCP}
{{- /* Not /readyz: reading back a large spool takes long, and a restart would only begin again. */}}
startupProbe:
  httpGet: {path: /livez, port: admin}
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /livez, port: admin}
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /readyz, port: admin}
  periodSeconds: 5
  timeoutSeconds: 5
{{- if or (include "rightcall.hasLoadBalancer" .) (dig "service" "handover" "" (include "rightcall.given" .Values.config | fromYaml)) }}
lifecycle:
  {{- /* Until whoever routes by trace id knows that this replica leaves; then it hands over what it holds. */}}
  preStop:
    exec:
      command: [sleep, "6"]
{{- end }}
resources:
  {{- toYaml (default dict .Values.resources) | nindent 2 }}
volumeMounts:
  - {name: rightcall-config, mountPath: /etc/rightcall/config, readOnly: true}
  - {name: rightcall-rules, mountPath: /etc/rightcall/rules, readOnly: true}
  - {name: rightcall-tmp, mountPath: /tmp}
  {{- if .Values.spool.enabled }}
  - {name: rightcall-spool, mountPath: /var/lib/rightcall}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Rules are mounted as a folder: files mounted with subPath are never updated. */}}
{{- define "rightcall.volumes" -}}
- name: rightcall-config
  configMap:
    name: {{ include "rightcall.fullname" . }}-config
- name: rightcall-rules
  configMap:
    name: {{ include "rightcall.rulesConfigMap" . }}
- name: rightcall-tmp
  emptyDir: {}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The pod of a gateway. Rules are not in the checksum: the collector reloads them itself. */}}
{{- define "rightcall.podTemplate" -}}
metadata:
  labels:
    {{- include "rightcall.labels" . | nindent 4 }}
    {{- with include "rightcall.addedLabels" .Values.podLabels }}
    {{- . | trim | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ include "rightcall.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "rightcall.serviceAccountName" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    {{- include "rightcall.podSecurityContext" . | nindent 4 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "rightcall.scheduling" . }}
  {{- . | trim | nindent 2 }}
  {{- end }}
  containers:
    -
      {{- include "rightcall.container" . | nindent 6 }}
  volumes:
    {{- include "rightcall.volumes" . | nindent 4 }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
