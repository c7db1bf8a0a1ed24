{{/* The collector's configuration: .Values.config, overridden by what the chart sets itself. */}}
{{- define "rightcall.config" -}}
{{- $config := default dict .Values.config -}}
{{- $given := include "rightcall.given" $config | fromYaml -}}
{{- $resources := default dict .Values.resources -}}
{{- $address := ternary "127.0.0.1" "0.0.0.0" (eq .Values.mode "sidecar") -}}
{{- $rules := list -}}
{{- range include "rightcall.ruleFiles" . | fromJsonArray -}}
{{- $rules = append $rules (printf "/etc/rightcall/rules/%s" .) -}}
{{- end -}}
{{- $protocols := dict
      "grpc" (dict "endpoint" (printf "%s:%d" $address (int .Values.ports.grpc)))
      "http" (dict "endpoint" (printf "%s:%d" $address (int .Values.ports.http))) -}}
{{- $own := dict
      "receivers" (dict "otlp" (dict "protocols" $protocols))
      "rules" $rules
      "spool" "memory"
      "exporters" (dict "prometheus" (dict "endpoint" (printf "0.0.0.0:%d" (int .Values.ports.metrics))))
      "admin" (dict "endpoint" (printf "0.0.0.0:%d" (int .Values.ports.admin))) -}}
{{- if eq .Values.routing "kafka" -}}
{{- $_ := unset $own "receivers" -}}
{{- end -}}
{{- if and (include "rightcall.hasLoadBalancer" .) (not (dig "service" "handover" "endpoint" "" $given)) -}}
{{- /* What a replica holds when it stops goes to where the load balancers send the rest of it, unless `config` names another way. */ -}}
{{- $endpoint := printf "%s.%s:%d" (include "rightcall.fullname" .) .Release.Namespace (int .Values.ports.grpc) -}}
{{- $_ := set $own "service" (dict "handover" (dict "endpoint" $endpoint "tls" (dict "insecure" true))) -}}
{{- end -}}
{{- if .Values.spool.enabled -}}
{{- $_ := set $own "spool" (dict "path" "/var/lib/rightcall/spool" "max_size_mib" (int .Values.spool.sizeMiB)) -}}
{{- end -}}
{{- $memory := dig "limits" "memory" "" $resources -}}
{{- if and $memory (not (dig "memory_limiter" "limit_mib" 0 $given)) -}}
{{- /* Four fifths, as the collector itself takes of its cgroup: here it is written where an operator can see it. */ -}}
{{- $limit := div (mul 4 (include "rightcall.mebibytes" $memory | int64)) 5 -}}
{{- $_ := set $own "memory_limiter" (dict "limit_mib" $limit) -}}
{{- end -}}
{{- if .Values.exporterHeaders -}}
{{- $headers := dict -}}
{{- range $index, $entry := .Values.exporterHeaders -}}
{{- $_ := set $headers $entry.header (printf "${env:RIGHTCALL_HEADER_%d}" $index) -}}
{{- end -}}
{{- $_ := set $own.exporters "otlp" (dict "headers" $headers) -}}
{{- end -}}
{{- if .Values.judgeApiKey.secret -}}
{{- $_ := set $own "judge" (dict "api_key" "${env:RIGHTCALL_JUDGE_API_KEY}") -}}
{{- end -}}
{{- toYaml (mergeOverwrite (deepCopy $config) $own) -}}
{{- end -}}

{{/* That of the OpenTelemetry Collectors in front of the replicas. */}}
{{- define "rightcall.balancerConfig" -}}
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "0.0.0.0:{{ .Values.ports.grpc }}"}
      http: {endpoint: "0.0.0.0:{{ .Values.ports.http }}"}
processors:
  memory_limiter: {check_interval: 1s, limit_percentage: 80, spike_limit_percentage: 20}
exporters:
  loadbalancing:
    routing_key: {{ .Values.loadBalancer.routingKey }}
    protocol:
      otlp:
        tls: {insecure: true}
        retry_on_failure: {enabled: true}
        sending_queue: {enabled: true}
    resolver:
      dns:
        hostname: {{ include "rightcall.fullname" . }}-replicas.{{ .Release.Namespace }}.svc
        port: "{{ .Values.ports.grpc }}"
        interval: 2s
  otlp_grpc/metrics:  # metrics belong to no trace: any replica passes them on
    endpoint: dns:///{{ include "rightcall.fullname" . }}-replicas.{{ .Release.Namespace }}.svc:{{ .Values.ports.grpc }}
    tls: {insecure: true}
extensions:
  health_check: {endpoint: "0.0.0.0:13133"}
service:
  extensions: [health_check]
  pipelines:
    traces: {receivers: [otlp], processors: [memory_limiter], exporters: [loadbalancing]}
    logs: {receivers: [otlp], processors: [memory_limiter], exporters: [loadbalancing]}
    metrics: {receivers: [otlp], processors: [memory_limiter], exporters: [otlp_grpc/metrics]}
{{- end -}}
