"""Source models in their own framework's engine: what a converted model is compared with."""
