"""The three comparisons of qnn-netron: two runs, golden tensors and a run, two folders of outputs."""
