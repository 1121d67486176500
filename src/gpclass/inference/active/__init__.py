"""Engines that keep an active set of rows."""
