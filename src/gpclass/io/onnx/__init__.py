"""Fitted models as ONNX files: kernels and posteriors run on arrays that record operators."""
