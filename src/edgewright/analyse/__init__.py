"""Where accuracy goes: layers, noise, first divergence, advice."""
