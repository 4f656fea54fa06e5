"""Architectures of timm in half precision: emulator and simulation against float.

``python -m benchmarks.architectures --results FILE``: every architecture with random weights, each in a
process of its own. What is in FILE already is not measured again, so that it can be stopped and continued;
``--only`` measures some, ``--only`` without names none. It needs timm, which no extra of ours installs.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.tables import Table, add_write_option

__all__ = ["NAMES", "Row", "read_rows", "sum_up"]

COLUMNS = (
    *("architecture", "pixels", "parameters, M", "compiles"),
    *("emulator, dB", "simulation, dB", "conversion"),
)

# The smallest of each family, and more of those that are used most.
NAMES = """
beit_base_patch16_224 botnet26t_256 caformer_s18 cait_xxs24_224 coat_lite_tiny coatnet_pico_rw_224
convformer_s18 convit_tiny convmixer_768_32 convnext_atto convnext_femto_ols convnextv2_atto
cpubone_nano crossvit_tiny_240 cs3darknet_focus_s csatv2 cspresnet50 darknet17 davit_tiny
deit3_small_patch16_224 deit_tiny_distilled_patch16_224 densenet121 dla46_c dla60_res2net dpn48b
eca_halonext26ts eca_nfnet_l0 ecaresnet26t edgenext_xx_small efficientformer_l1 efficientformerv2_s0
efficientnet_b0 efficientnet_es efficientnet_lite0 efficientnetv2_rw_t efficientvim_m1
efficientvit_b0 efficientvit_m0 ese_vovnet19b_slim_dw eva02_tiny_patch14_224 fasternet_t0 fastvit_t8
fbnetc_100 fbnetv3_b focalnet_tiny_srf gcresnext26ts gcvit_xxtiny ghostnet_050 ghostnetv2_100
ghostnetv3_050 gmixer_12_224 gmlp_ti16_224 haloregnetz_b hardcorenas_a hgnet_tiny hgnetv2_b0
hiera_tiny_224 hieradet_small hrnet_w18_small iformer_t inception_next_atto inception_resnet_v2
inception_v3 inception_v4 lambda_resnet26t lcnet_035 lcnetv2_small legacy_seresnet18 legacy_xception
levit_128s levit_conv_128s lowformer_b0 mambaout_femto maxvit_pico_rw_256 maxxvitv2_nano_rw_256
mixer_s32_224 mixnet_s mnasnet_small mobilenet_edgetpu_v2_xs mobilenetv1_100 mobilenetv2_035
mobilenetv2_100 mobilenetv3_large_075 mobilenetv3_small_050 mobilenetv4_conv_small_035
mobilenetv4_hybrid_medium_075 mobileone_s0 mobilevit_xxs mobilevitv2_050 mvitv2_tiny nest_tiny
nextvit_small nf_regnet_b0 nf_resnet26 pit_ti_224 poolformer_s12 poolformerv2_s12 pvt_v2_b0
rdnet_tiny regnetx_002 regnety_002 regnetz_005 regnetz_b16 repghostnet_050 repvgg_a0 repvit_m0_9
res2net50_14w_8s res2next50 resmlp_12_224 resnest14d resnet10t resnet18 resnet50 resnetblur18
resnetv2_18 resnext50_32x4d rexnet_100 selecsls42 semnasnet_050 sequencer2d_s seresnet18 shvit_s1
skresnet18 spnasnet_100 starnet_s050 swiftformer_xs swin_tiny_patch4_window7_224 swinv2_cr_tiny_224
swinv2_tiny_window8_256 tf_efficientnetv2_b0 tiny_vit_5m_224 tinynet_e tnt_s_patch16_224 tresnet_m
twins_pcpvt_small twins_svt_small vgg11 visformer_tiny vit_relpos_small_patch16_224
vit_small_patch16_224 vit_tiny_patch16_224 vit_tiny_r_s16_p8_224 vitamin_small_224 volo_d1_224
xception41 xcit_nano_12_p16_224
"""
ENOUGH_DB = 40.0
LONGEST_S = 400


@dataclass(frozen=True)
class Row:
    """One architecture; ``problem`` is why it has no figures."""

    name: str
    pixels: int = 0
    parameters: int = 0
    # The largest difference between the source's outputs and ours, as a share of the largest output.
    difference: float = 0.0
    simulation_db: float | None = None
    emulator_db: float | None = None
    problem: str = ""

    @property
    def cells(self) -> tuple[object, ...]:
        """What the table has of it."""
        size = f"{self.parameters / 1e6:.1f}" if self.parameters else "-"
        figures = (
            "-" if value is None else f"{value:.1f}" for value in (self.emulator_db, self.simulation_db)
        )
        verdict = self.problem or ("yes" if self.emulator_db is not None else "no")
        return self.name, self.pixels or "-", size, verdict, *figures, f"{self.difference:.0e}"


def read_rows(path: Path) -> dict[str, Row]:
    """The rows of a file of results; the last one of an architecture counts."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {row.name: row for row in (Row(**json.loads(line)) for line in lines)}


def sum_up(rows: Iterable[Row]) -> str:
    """How many compile, and how many of them are good enough."""
    figures = [row.emulator_db for row in rows]
    compiled = [figure for figure in figures if figure is not None]
    good = sum(figure >= ENOUGH_DB for figure in compiled)
    return (
        f"Of {len(figures)} architectures {len(compiled)} compile and run, {good} "
        f"({100 * good / max(len(figures), 1):.0f} %) with {ENOUGH_DB:.0f} dB or more."
    )


def _measure_apart(name: str) -> Row:
    """One architecture in a process of its own: a crash or an endless run is a row, too."""
    command = [sys.executable, "-m", "benchmarks.architecture", name]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        return Row(name, problem=f"more than {LONGEST_S} s")
    last = run.stdout.strip().splitlines()[-1:]
    if run.returncode or not last:
        return Row(name, problem=(run.stderr.strip().splitlines() or ["no output"])[-1])
    return Row(**json.loads(last[0]))


def main() -> None:
    """Measures what is missing, then shows all that is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="a file of rows that grows")
    parser.add_argument("--only", nargs="*", default=NAMES.split(), help="names of architectures")
    parser.add_argument("--again", action="store_true", help="measure what is in the file, too")
    add_write_option(parser)
    options = parser.parse_args()
    known = read_rows(options.results)
    for name in options.only:
        if name in known and not options.again:
            continue
        row = _measure_apart(name)
        with options.results.open("a", encoding="utf-8") as results:
            results.write(json.dumps(asdict(row)) + "\n")
        print(*row.cells, sep=", ", flush=True)
    rows = sorted(read_rows(options.results).values(), key=lambda row: row.name)
    table = Table("architectures", COLUMNS, options, ("timm", "torch"))
    for row in rows:
        table.add(*row.cells)
    table.finish(sum_up(rows))


if __name__ == "__main__":
    main()
