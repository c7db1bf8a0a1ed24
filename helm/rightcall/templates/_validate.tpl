{{/* Contradictions: what the schema cannot see, refused with a sentence. */}}
{{- define "rightcall.validate" -}}
{{- $many := or (gt (int .Values.replicaCount) 1) .Values.autoscaling.enabled -}}
{{- if and .Values.rules .Values.existingRules.configMap -}}
{{- fail "rules and existingRules.configMap are both set: rules come from one of them." -}}
{{- end -}}
{{- if and .Values.existingRules.configMap (not .Values.existingRules.keys) -}}
{{- fail "existingRules.configMap is set without existingRules.keys: name the keys that are rule files." -}}
{{- end -}}
{{- if eq .Values.mode "sidecar" -}}
{{- range $name, $wrong := dict "replicaCount" (gt (int .Values.replicaCount) 1) "autoscaling.enabled" .Values.autoscaling.enabled "podDisruptionBudget.enabled" .Values.podDisruptionBudget.enabled "networkPolicy.enabled" .Values.networkPolicy.enabled "routing" (ne .Values.routing "single") -}}
{{- if $wrong -}}
{{- fail (printf "%s is set, and mode is sidecar: a sidecar lives and scales with its agent's pod. Set it there, or choose mode: gateway." $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (eq .Values.mode "gateway") $many (eq .Values.routing "single") -}}
{{- fail "Several replicas need routing: loadBalancer (or external, where something of yours does it): all spans of a trace must reach the same replica, or runs are torn apart and scored wrong." -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) -}}
{{- fail "replicaCount and autoscaling.enabled are both set: the autoscaler owns the number of replicas. Leave replicaCount at 1." -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas." -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled .Values.spool.enabled -}}
{{- fail "autoscaling.enabled and spool.enabled are both set: the autoscaler would remove replicas whose spool still holds undelivered spans. Choose one." -}}
{{- end -}}
{{- if and .Values.podDisruptionBudget.enabled (not $many) -}}
{{- fail "podDisruptionBudget.enabled with one replica promises what cannot be kept: set replicaCount above 1, or leave it out." -}}
{{- end -}}
{{- if .Values.config.spool -}}
{{- fail "config.spool belongs to the chart: set spool.enabled and spool.sizeMiB." -}}
{{- end -}}
{{- range $name, $wrong := dict "config.rules" .Values.config.rules "config.admin" .Values.config.admin "config.receivers.otlp.protocols" (dig "receivers" "otlp" "protocols" (dict) .Values.config | values | toJson | contains "endpoint") -}}
{{- if $wrong -}}
{{- fail (printf "%s belongs to the chart: set rules and ports." $name) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := dig "exporters" "otlp" "headers" (dict) .Values.config -}}
{{- if and (regexMatch "(?i)authorization|api-?key|token|secret" $name) (not (contains "${env:" $value)) -}}
{{- fail (printf "config.exporters.otlp.headers.%s would stand readable in a ConfigMap: put it in a Secret and name that in exporterHeaders." $name) -}}
{{- end -}}
{{- end -}}
{{- range $protocol, $settings := dig "receivers" "otlp" "protocols" (dict) .Values.config -}}
{{- $token := dig "auth" "bearer_token" "" (default dict $settings) -}}
{{- if and $token (not (contains "${env:" $token)) -}}
{{- fail (printf "config.receivers.otlp.protocols.%s.auth.bearer_token would stand readable in a ConfigMap: write ${env:NAME} and give it in extraEnv from a Secret." $protocol) -}}
{{- end -}}
{{- if and (include "rightcall.hasLoadBalancer" $) (or (dig "tls" "" (default dict $settings)) (dig "auth" "" (default dict $settings))) -}}
{{- fail "config.receivers has tls or auth, and routing is loadBalancer: the load balancers speak to the replicas in clear text. Fence the replicas in with networkPolicy, or choose routing: external." -}}
{{- end -}}
{{- end -}}
{{- $judgeKey := dig "judge" "api_key" "" .Values.config -}}
{{- if and $judgeKey (not (contains "${env:" $judgeKey)) -}}
{{- fail "config.judge.api_key would stand readable in a ConfigMap: put it in a Secret and name that in judgeApiKey." -}}
{{- end -}}
{{- range $name, $value := dig "judge" "headers" (dict) .Values.config -}}
{{- if and (regexMatch "(?i)authorization|api-?key|token|secret" $name) (not (contains "${env:" $value)) -}}
{{- fail (printf "config.judge.headers.%s would stand readable in a ConfigMap: write ${env:NAME} and give it in extraEnv from a Secret." $name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.judgeApiKey.secret (not (dig "judge" "endpoint" "" .Values.config)) -}}
{{- fail "judgeApiKey is set without config.judge: there is nobody to show it to." -}}
{{- end -}}
{{- if and .Values.exporterHeaders (not (dig "exporters" "otlp" "endpoint" "" .Values.config)) -}}
{{- fail "exporterHeaders are set without config.exporters.otlp.endpoint: there is nobody to send them to." -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (eq .Values.mode "sidecar") -}}
{{- fail "serviceMonitor.enabled, and mode is sidecar: there is no service. Scrape the agents' pods on the port named metrics." -}}
{{- end -}}
{{- end -}}
