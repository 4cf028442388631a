// The Prometheus operator (Apache-2.0). Only its CRDs for ServiceMonitor and PrometheusRule are used; nothing is built.
module sluice.dev/test/clients/prometheus-operator

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.85.0 // indirect
