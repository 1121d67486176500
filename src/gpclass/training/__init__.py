"""Training as pure functions: a problem in, a trained model out."""
