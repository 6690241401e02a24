{{- define "latchkey.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "latchkey.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "latchkey.labels" -}}
{{ include "latchkey.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "latchkey.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The path of base_url without a trailing slash: everything is served below it. */}}
{{- define "latchkey.path" -}}
{{ (urlParse .Values.config.base_url).path | trimSuffix "/" }}
{{- end }}

{{- define "latchkey.port" -}}
{{ dig "listen" "port" 8080 .Values.config }}
{{- end }}

{{/* latchkey.yml: the values, and the metrics port if metrics are enabled. */}}
{{- define "latchkey.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if .Values.metrics.enabled }}
{{- if eq (int .Values.metrics.port) (int (include "latchkey.port" .)) }}{{ fail "metrics.port must not be the port of the server, config.listen.port" }}{{ end }}
{{- $config = mergeOverwrite $config (dict "listen" (dict "management" (dict "host" "0.0.0.0" "port" (int .Values.metrics.port)))) }}
{{- end }}
{{- toYaml $config }}
{{- end }}
