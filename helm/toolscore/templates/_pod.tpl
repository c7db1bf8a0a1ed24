{{/* The collector's container, the same in every workload. */}}
{{- define "toolscore.container" -}}
name: toolscore
image: {{ include "toolscore.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: [run, --config, /etc/toolscore/config/config.yaml]
securityContext:
  {{- include "toolscore.securityContext" . | nindent 2 }}
env:
  - name: PYTHONDONTWRITEBYTECODE
    value: "1"
  {{- range $index, $entry := .Values.exporterHeaders }}
  - name: TOOLSCORE_HEADER_{{ $index }}
    valueFrom:
      secretKeyRef:
        name: {{ $entry.secret }}
        key: {{ $entry.key }}
  {{- end }}
  {{- with .Values.judgeApiKey }}
  {{- if .secret }}
  - name: TOOLSCORE_JUDGE_API_KEY
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
  - {name: otlp-grpc, containerPort: {{ .Values.ports.grpc }}, protocol: TCP}
  - {name: otlp-http, containerPort: {{ .Values.ports.http }}, protocol: TCP}
  - {name: metrics, containerPort: {{ .Values.ports.metrics }}, protocol: TCP}
  - {name: admin, containerPort: {{ .Values.ports.admin }}, protocol: TCP}
startupProbe:
  httpGet: {path: /readyz, port: admin}
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
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - {name: toolscore-config, mountPath: /etc/toolscore/config, readOnly: true}
  - {name: toolscore-rules, mountPath: /etc/toolscore/rules, readOnly: true}
  {{- if .Values.spool.enabled }}
  - {name: toolscore-spool, mountPath: /var/lib/toolscore}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Rules are mounted as a whole folder: files mounted one by one would never be updated. */}}
{{- define "toolscore.volumes" -}}
- name: toolscore-config
  configMap:
    name: {{ include "toolscore.fullname" . }}-config
- name: toolscore-rules
  configMap:
    name: {{ include "toolscore.rulesConfigMap" . }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The pod of a gateway. Rules are not in the checksum: the collector sees them change by itself. */}}
{{- define "toolscore.podTemplate" -}}
metadata:
  labels:
    {{- include "toolscore.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ include "toolscore.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "toolscore.serviceAccountName" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    {{- include "toolscore.podSecurityContext" . | nindent 4 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  containers:
    -
      {{- include "toolscore.container" . | nindent 6 }}
  volumes:
    {{- include "toolscore.volumes" . | nindent 4 }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
