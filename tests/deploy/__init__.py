"""What operators are handed: rules, dashboards, manifests and the chart."""
