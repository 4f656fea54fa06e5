"""What a language model is: the numbers that its config.json gives, in one dialect."""

from dataclasses import dataclass, field

# What an ONNX model calls the tokens that LongRoPE's short factors are for, among its properties.
SHORT_CONTEXT = "short_context"


@dataclass(frozen=True)
class RopeSpec:
    """How positions turn queries and keys."""

    theta: float
    # Of each head, so many values are turned.
    dims: int
    # LongRoPE: divisors of the frequencies for texts within the original context, and for longer ones.
    short_factors: tuple[float, ...] = ()
    long_factors: tuple[float, ...] = ()
    original_context: int = 0
    # Sines and cosines are multiplied by it.
    attention_factor: float = 1.0
    # Positions are divided by it.
    linear_factor: float = 1.0
    # Llama 3: factor, low and high frequency factors; empty elsewhere.
    llama3: tuple[float, ...] = ()

    @property
    def short_context(self) -> int | None:
        """Tokens that LongRoPE's short factors are for; None where there is one kind."""
        return self.original_context if self.short_factors else None


@dataclass(frozen=True)
class ModelSpec:
    """A dense decoder of the Llama family, of which the Phi models are members."""

    architecture: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context: int
    norm_epsilon: float
    rope: RopeSpec
    is_tied: bool = False
    # Each query and key is normalized by itself, as in Qwen 3.
    has_qk_norm: bool = False
    # Queries, keys and values have a bias, as in Qwen 2.
    has_qkv_bias: bool = False
    # Phi stores queries, keys and values in one matrix, and gates and ups in another.
    is_fused: bool = False
    # Tokens that attention looks back to; 0: all.
    window: int = 0
    bos: int | None = None
    eos: tuple[int, ...] = field(default=())
    pad: int | None = None

    @property
    def weights(self) -> int:
        """Elements of all matrices."""
        attention = self.hidden * (2 * self.query_rows + 2 * self.key_rows)
        embeddings = self.vocabulary * self.hidden * (1 if self.is_tied else 2)
        return embeddings + self.layers * (attention + 3 * self.hidden * self.intermediate)

    @property
    def query_rows(self) -> int:
        """Rows of the matrix of queries."""
        return self.heads * self.head_dim

    @property
    def key_rows(self) -> int:
        """Rows of the matrix of keys, and of that of values."""
        return self.kv_heads * self.head_dim
