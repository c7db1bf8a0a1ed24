{{/* Rejects contradictory values that the schema cannot detect. */}}
{{- define "rightcall.validate" -}}
{{- $config := include "rightcall.given" .Values.config | fromYaml -}}
{{- $resources := default dict .Values.resources -}}
{{- $many := or (not .Values.replicaCount) (gt (int .Values.replicaCount) 1) .Values.autoscaling.enabled -}}
{{- if and .Values.rules .Values.existingRules.configMap -}}
{{- fail "rules and existingRules.configMap are both set: use one of them." -}}
{{- end -}}
{{- if and .Values.existingRules.configMap (not .Values.existingRules.keys) -}}
{{- fail "existingRules.configMap is set without existingRules.keys: name the keys that are rule files." -}}
{{- end -}}
{{- if eq .Values.mode "sidecar" -}}
{{- range $name, $wrong := dict "replicaCount" (gt (int .Values.replicaCount) 1) "autoscaling.enabled" .Values.autoscaling.enabled "podDisruptionBudget.enabled" .Values.podDisruptionBudget.enabled "networkPolicy.enabled" .Values.networkPolicy.enabled "routing" (ne .Values.routing "single") -}}
{{- if $wrong -}}
{{- fail (printf "%s is set, but mode is sidecar: a sidecar runs and scales with its agent's pod. Set it there, or use mode: gateway." $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (eq .Values.mode "gateway") $many (eq .Values.routing "single") -}}
{{- fail "Several replicas need routing: kafka or loadBalancer (or external, if your own infrastructure routes by trace id): all spans of a trace must reach the same replica, otherwise runs are split and incomplete." -}}
{{- end -}}
{{- $brokers := dig "receivers" "kafka" "brokers" list $config -}}
{{- if and (eq .Values.routing "kafka") (not $brokers) -}}
{{- fail "routing is kafka, but config.receivers.kafka.brokers is not set: it says where the topic is." -}}
{{- end -}}
{{- if and $brokers (ne .Values.routing "kafka") -}}
{{- fail "config.receivers.kafka is set, but routing is not kafka: with both, spans that are sent to a replica would be judged apart from those in the topic." -}}
{{- end -}}
{{- if and (eq .Values.routing "kafka") .Values.spool.enabled -}}
{{- fail "spool.enabled has no use with routing: kafka: the topic keeps what is not finished." -}}
{{- end -}}
{{- if and .Values.autoscaling.targetUnreadMessages (ne .Values.routing "kafka") -}}
{{- fail "autoscaling.targetUnreadMessages needs routing: kafka." -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) -}}
{{- fail "replicaCount and autoscaling.enabled are both set: the autoscaler controls the number of replicas. Leave replicaCount at 1." -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas." -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled .Values.spool.enabled -}}
{{- fail "autoscaling.enabled and spool.enabled are both set: the autoscaler would remove replicas whose spool still holds undelivered spans. Choose one." -}}
{{- end -}}
{{- if and .Values.podDisruptionBudget.enabled (not $many) -}}
{{- fail "podDisruptionBudget.enabled has no effect with one replica: set replicaCount above 1, or disable it." -}}
{{- end -}}
{{- if $config.spool -}}
{{- fail "config.spool is set by the chart: use spool.enabled and spool.sizeMiB." -}}
{{- end -}}
{{- if .Values.spool.enabled -}}
{{- $volume := include "rightcall.mebibytes" .Values.spool.volumeSize | int64 -}}
{{- $beside := 128 -}}
{{- $store := dig "runs" (dict) $config -}}
{{- if and (kindIs "map" $store) (hasPrefix "/var/lib/rightcall" (get $store "path" | default "/var/lib/rightcall")) -}}
{{- $beside = add $beside (get $store "max_size_mib" | default 256 | int64) -}}
{{- end -}}
{{- $needed := add $beside (.Values.spool.sizeMiB | int64) (div (.Values.spool.sizeMiB | int64) 10) -}}
{{- if lt $volume $needed -}}
{{- fail (printf "spool.volumeSize %v is too small for spool.sizeMiB %v: the store of runs (config.runs), the log of SQLite and requests on their way need room too. Set volumeSize to %vMi or more, or sizeMiB to %v or less." .Values.spool.volumeSize .Values.spool.sizeMiB $needed (max 0 (div (mul 10 (sub $volume $beside)) 11))) -}}
{{- end -}}
{{- end -}}
{{- $memory := dig "limits" "memory" "" $resources -}}
{{- $budget := dig "memory_limiter" "limit_mib" 0 $config | int64 -}}
{{- if and $memory $budget (gt $budget (div (mul 9 (include "rightcall.mebibytes" $memory | int64)) 10)) -}}
{{- fail (printf "config.memory_limiter.limit_mib %v is more than nine tenths of resources.limits.memory %v: the kernel would kill the collector before it refuses requests. Leave limit_mib out, and the chart sets four fifths." $budget $memory) -}}
{{- end -}}
{{- if and $memory (lt (include "rightcall.mebibytes" $memory | int64) 256) -}}
{{- fail (printf "resources.limits.memory %v is too little: the collector itself takes about 100 MiB. Set 256Mi or more." $memory) -}}
{{- end -}}
{{- range $name, $wrong := dict "config.rules" $config.rules "config.admin.endpoint" (dig "admin" "endpoint" "" $config) "config.exporters.prometheus.endpoint" (dig "exporters" "prometheus" "endpoint" "" $config) "config.receivers.otlp.protocols" (dig "receivers" "otlp" "protocols" (dict) $config | values | toJson | contains "endpoint") -}}
{{- if $wrong -}}
{{- fail (printf "%s is set by the chart: use rules and ports." $name) -}}
{{- end -}}
{{- end -}}
{{- include "rightcall.refuseSecrets" (dict "place" "config" "settings" $config) -}}
{{- range $protocol, $settings := dig "receivers" "otlp" "protocols" (dict) $config -}}
{{- if and (include "rightcall.hasLoadBalancer" $) (or $settings.tls $settings.auth) -}}
{{- fail "config.receivers has tls or auth, but routing is loadBalancer: the load balancers connect to the replicas in plain text. Restrict access with networkPolicy, or use routing: external." -}}
{{- end -}}
{{- end -}}
{{- if and .Values.judgeApiKey.secret (not (dig "judge" "endpoint" "" $config)) -}}
{{- fail "judgeApiKey is set without config.judge.endpoint: there is no judge to use it." -}}
{{- end -}}
{{- if and .Values.exporterHeaders (not (dig "exporters" "otlp" "endpoint" "" $config)) -}}
{{- fail "exporterHeaders is set without config.exporters.otlp.endpoint: there is no exporter to use it." -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (eq .Values.mode "sidecar") -}}
{{- fail "serviceMonitor.enabled is set, but mode is sidecar: there is no Service. Scrape the agents' pods on the port named metrics." -}}
{{- end -}}
{{- end -}}

{{/* Rejects what would be readable in a ConfigMap: a token, a key or a password that is written out, and one in a URL. */}}
{{- define "rightcall.refuseSecrets" -}}
{{- $secret := `(?i)\.auth\..*(token|password)$|\.api_key$|\.headers\..*(authorization|api-?key|token|secret)|\.properties\..*(password|secret|key\.pem)$` -}}
{{- range $name, $value := .settings -}}
{{- $place := printf "%s.%s" $.place $name -}}
{{- if kindIs "map" $value -}}
{{- include "rightcall.refuseSecrets" (dict "place" $place "settings" $value) -}}
{{- else if and (kindIs "string" $value) (not (contains "${env:" (toString $value))) -}}
{{- if or (and $value (regexMatch $secret $place)) (regexMatch "^[a-z]+://[^/?#]*@" $value) -}}
{{- $fix := "write ${env:NAME} and set NAME in extraEnv from a Secret" -}}
{{- if eq $.place "config.exporters.otlp.headers" -}}
{{- $fix = "put it in a Secret and reference that in exporterHeaders" -}}
{{- else if eq $place "config.judge.api_key" -}}
{{- $fix = "put it in a Secret and reference that in judgeApiKey" -}}
{{- end -}}
{{- fail (printf "%s would be readable in a ConfigMap: %s." $place $fix) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
