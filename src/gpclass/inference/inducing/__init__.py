"""Engines that work through inducing points."""
