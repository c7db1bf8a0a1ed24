"""Settings for every test: property tests are not timed, machines differ."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("rightcall", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rightcall")
