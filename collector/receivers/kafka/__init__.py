"""Traces from a topic of Kafka: the thread that polls, and the messages that are taken."""
