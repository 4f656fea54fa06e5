"""The algorithms that make quantized weights better, by the names that every tool and the API share."""

# In the order in which they are applied.
ALGORITHMS: dict[str, str] = {
    "cle": "cross layer equalization",
    "smooth": "balance between weights and what they multiply, in transformers",
    "seq_mse": "ranges of weights by the error of each layer's output",
    "adaround": "learned rounding of weights",
    "bc": "bias correction",
    "auto": "what suits the network",
}
