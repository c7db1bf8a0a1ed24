{{- define "rightcall.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "rightcall.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "rightcall.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "rightcall.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "rightcall.selectorLabels" -}}
app.kubernetes.io/name: {{ include "rightcall.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: collector
{{- end -}}

{{/* A label takes no "+", which begins the build metadata of a version. */}}
{{- define "rightcall.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: rightcall
{{- include "rightcall.addedLabels" .Values.commonLabels }}
{{- end -}}

{{/* Labels beside the chart's own, by which selectors and the ServiceMonitor's job go. */}}
{{- define "rightcall.addedLabels" -}}
{{- with omit . "helm.sh/chart" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "app.kubernetes.io/part-of" "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/scope" }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "rightcall.labels" -}}
{{ include "rightcall.selectorLabels" . }}
{{ include "rightcall.commonLabels" . }}
{{- end -}}

{{- define "rightcall.balancerSelectorLabels" -}}
app.kubernetes.io/name: {{ include "rightcall.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: load-balancer
{{- end -}}

{{- define "rightcall.testSelectorLabels" -}}
app.kubernetes.io/name: {{ include "rightcall.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: test
{{- end -}}

{{- define "rightcall.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "rightcall.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "rightcall.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "rightcall.rulesConfigMap" -}}
{{- default (printf "%s-rules" (include "rightcall.fullname" .)) .Values.existingRules.configMap -}}
{{- end -}}

{{/* The names of the rule files, in a stable order. */}}
{{- define "rightcall.ruleFiles" -}}
{{- ternary .Values.existingRules.keys (keys .Values.rules | sortAlpha) (ne .Values.existingRules.configMap "") | toJson -}}
{{- end -}}

{{/* A map without the keys that are null: an overlay takes a section of `config` away so. To ask what is set, not to render. */}}
{{- define "rightcall.given" -}}
{{- $given := dict -}}
{{- range $key, $value := . -}}
{{- if kindIs "map" $value -}}
{{- $_ := set $given $key (include "rightcall.given" $value | fromYaml) -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- $_ := set $given $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $given -}}
{{- end -}}

{{- define "rightcall.hasLoadBalancer" -}}
{{- if and (eq .Values.mode "gateway") (eq .Values.routing "loadBalancer") -}}yes{{- end -}}
{{- end -}}

{{/* A quantity of Kubernetes, such as 1Gi, 512Mi, 1.5G or 536870912, in whole MiB. */}}
{{- define "rightcall.mebibytes" -}}
{{- $text := toString . -}}
{{- if kindIs "float64" . -}}{{- $text = printf "%.0f" . -}}{{- end -}}
{{- if not (regexMatch "^[0-9]+(\\.[0-9]+)?([kMGT]|[KMGT]i)?$" $text) -}}
{{- fail (printf "%q is not an amount of memory or storage such as 512Mi or 2Gi." $text) -}}
{{- end -}}
{{- $number := regexFind "^[0-9.]+" $text | float64 -}}
{{- $bytes := get (dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776) (regexFind "[kKMGTi]+$" $text) -}}
{{- divf (mulf $number (float64 $bytes)) 1048576 | floor | int64 -}}
{{- end -}}

{{/* Where pods may run: all of the release, since nodes that have a taint or a label for it may be the only ones. */}}
{{- define "rightcall.scheduling" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* As the Pod Security Standard `restricted` requires. */}}
{{- define "rightcall.podSecurityContext" -}}
runAsNonRoot: true
{{- with .Values.runAsUser }}
runAsUser: {{ int64 . }}
runAsGroup: {{ int64 . }}
fsGroup: {{ int64 . }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "rightcall.securityContext" -}}
runAsNonRoot: true
{{- with .Values.runAsUser }}
runAsUser: {{ int64 . }}
runAsGroup: {{ int64 . }}
{{- end }}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}
