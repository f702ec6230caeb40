"""Adapting a pretrained model to a task, and the baselines it must beat."""
