"""Language models for the NPU: graphs of fixed shapes, their states outside, compiled for a chip."""
