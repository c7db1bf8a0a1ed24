{{- define "toolscore.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "toolscore.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "toolscore.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "toolscore.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "toolscore.selectorLabels" -}}
app.kubernetes.io/name: {{ include "toolscore.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: collector
{{- end -}}

{{- define "toolscore.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: toolscore
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "toolscore.labels" -}}
{{ include "toolscore.selectorLabels" . }}
{{ include "toolscore.commonLabels" . }}
{{- end -}}

{{- define "toolscore.balancerSelectorLabels" -}}
app.kubernetes.io/name: {{ include "toolscore.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: load-balancer
{{- end -}}

{{- define "toolscore.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "toolscore.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "toolscore.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "toolscore.rulesConfigMap" -}}
{{- default (printf "%s-rules" (include "toolscore.fullname" .)) .Values.existingRules.configMap -}}
{{- end -}}

{{/* File names of the rules, in a stable order. */}}
{{- define "toolscore.ruleFiles" -}}
{{- ternary .Values.existingRules.keys (keys .Values.rules | sortAlpha) (ne .Values.existingRules.configMap "") | toJson -}}
{{- end -}}

{{- define "toolscore.hasLoadBalancer" -}}
{{- if and (eq .Values.mode "gateway") (eq .Values.routing "loadBalancer") -}}yes{{- end -}}
{{- end -}}

{{/* Restricted by the pod security standards. */}}
{{- define "toolscore.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "toolscore.securityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}
