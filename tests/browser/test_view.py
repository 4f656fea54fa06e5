"""The viewer in a real browser: Chromium, driven by Playwright; skipped where either is missing."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

import edgewright as ew
from edgewright.config.model_library import LibraryOutput, LibrarySource
from edgewright.sdk.model_library import generate_libraries
from edgewright.tools.umbrella import main as run_edgewright
from edgewright.view.viewer import list_folder, start_viewer
from tests.optional import NEEDS_BROWSER, NO_TORCH
from tests.unit.view.sample_models import HOSTILE, save_chain, save_convolution

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"
pytestmark = list(NEEDS_BROWSER)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One file of each kind, by name."""
    folder = tmp_path_factory.mktemp("files")
    save_convolution(folder / "small.onnx")
    data = np.random.default_rng(0).standard_normal((4, 1, 3, 8, 8)).astype(np.float32)
    quantized = ew.quantize(folder / "small.onnx", data)
    quantized.save(folder / "small.dlc")
    quantized.save(folder / "small.cpp")
    shutil.copy(EXAMPLES / "mnist_dscnn_int8.tflite", folder)
    shutil.copy(EXAMPLES / "mnist_cnn_fakequant_frozen.pb", folder)
    return folder


@pytest.fixture
def open_view(browser):
    """Opens models in the viewer; what the console says is in ``page.said``."""
    opened = []

    def show(*models, width=1400, scheme="light", **options):
        export = options.get("export")
        shown = ew.view(*models, open_browser=False, **options)
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.said, address = [], shown.as_uri() if export else shown.url
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        own = (address, "blob:", "data:")
        page.on("request", lambda request: request.url.startswith(own) or page.said.append(request.url))
        page.goto(address)
        page.wait_for_selector("body[data-ready]", state="attached", timeout=60_000)
        opened.append((page, shown))
        return page

    yield show
    for page, shown in opened:
        page.close()
        if isinstance(shown, ew.Viewer):
            shown.close()


def read_panel(page):
    return page.locator("#panel").inner_text()


def list_boxes(page):
    return page.evaluate("() => edgewrightView.canvas.scene.boxes.map((box) => box.box)")


def search(page, text):
    page.keyboard.press("/")
    page.locator("#search").fill(text)
    page.locator("#results [role=option]").first.wait_for()
    page.keyboard.press("Enter")


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("small.onnx", "Conv"),
        ("small.dlc", "Conv2d"),
        ("small_net.json", "Conv2d"),
        ("mnist_dscnn_int8.tflite", "CONV_2D"),
        ("mnist_cnn_fakequant_frozen.pb", "Max"),
    ],
)
def test_each_kind_of_file_is_drawn_searched_and_described(files, open_view, name, op):
    page = open_view(files / name)
    assert page.locator("#title").inner_text() == name
    assert op in read_panel(page)
    search(page, op)
    page.locator("#panel h2", has_text=op).wait_for()
    assert "datatype" in read_panel(page)
    page.locator("#panel button", has_text="Histogram").first.click()
    page.locator("#panel svg").first.wait_for()
    assert page.said == []


@pytest.fixture(scope="module")
def built(files, tmp_path_factory):
    """The kinds that need a compiler, a build or torch, by name; what this machine cannot make is absent."""
    folder = tmp_path_factory.mktemp("built")
    data = np.random.default_rng(0).standard_normal((30, 1, 3, 8, 8)).astype(np.float32)
    ew.build(files / "small.onnx", data, target="SM8650", output=folder / "build", precision="w8a8")
    generate_libraries(
        LibrarySource(cpp=str(files / "small.cpp"), bin=str(files / "small.bin")),
        LibraryOutput(targets=("x86_64-linux-clang",), lib_name="small", output_dir=str(folder)),
    )
    if importlib.util.find_spec("torch") is not None:
        import torch

        module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval()
        torch.export.save(torch.export.export(module, (torch.zeros(1, 4),)), folder / "small.pt2")
    return folder


@pytest.mark.parametrize(
    ("name", "op", "kind"),
    [
        ("build", "Conv2d", "DLC"),
        ("build/report.json", "Conv2d", "DLC"),
        ("build/small.cpp", "Conv2d", "QNN net.json"),
        ("build/small.bin", "Conv2d", "QNN net.json"),
        ("build/quantization_config.json", "Activation", "encodings"),
        ("build/context_binaries/small_ctx.onnx", "EPContext", "ONNX"),
        ("build/context_binaries/htp_context.bin", "", "context binary"),
        ("x86_64-linux-clang/libsmall.so", "Conv2d", "model library"),
        ("small.pt2", "linear", "PyTorch"),
    ],
)
def test_each_kind_that_is_compiled_or_built_is_drawn(built, open_view, name, op, kind):
    if not (built / name).exists():
        pytest.skip(NO_TORCH if name.endswith(".pt2") else "the wheel onnxruntime-qnn is not installed")
    page = open_view(built / name)
    assert page.locator("#format").inner_text().startswith(kind)
    search(page, op or "small")
    page.locator("#panel h2", has_text=op).first.wait_for()
    assert "datatype" in read_panel(page)
    assert page.said == []


def test_the_layers_of_a_build_and_where_its_backends_disagree_are_overlays(built, open_view):
    page = open_view(built / "build")
    titles = page.locator("#overlay option").all_inner_texts()
    assert titles[1] == "SQNR up to here, simulated"
    assert ("Simulation against emulator" in titles) == ("SQNR up to here, emulated" in titles)


def test_an_exported_page_does_the_same_from_a_disk(files, open_view, tmp_path):
    page = open_view(files / "small.dlc", export=tmp_path / "page.html")
    search(page, "Conv2d")
    page.locator("#panel button", has_text="Histogram").first.click()
    page.locator("#panel svg").first.wait_for()
    assert page.said == []


def test_several_models_are_chosen_from_a_list(files, open_view):
    page = open_view(files / "small.onnx", files / "small.dlc")
    page.locator("#model").select_option(label="small.dlc")
    page.locator("#format", has_text="DLC").wait_for()
    assert page.said == []


def test_a_click_on_a_box_selects_it(files, open_view):
    page = open_view(files / "small.onnx")
    spot = page.evaluate(
        """() => {
            const { canvas } = edgewrightView;
            const box = canvas.scene.boxes.find((one) => one.lines[0] === "Relu");
            const frame = canvas.canvas.getBoundingClientRect();
            const { x, y, k } = canvas.view;
            return [frame.left + x + (box.x + 20) * k, frame.top + y + (box.y + 20) * k];
        }"""
    )
    page.mouse.click(*spot)
    page.locator("#panel h2", has_text="Relu").wait_for()
    assert "Relu" in page.locator("#live").inner_text()


def test_keys_walk_along_the_lines(files, open_view):
    page = open_view(files / "small.onnx")
    page.locator("#graph").focus()
    kinds = []
    for _ in range(4):
        page.keyboard.press("ArrowDown")
        kinds.append(page.locator("#panel h2").inner_text())
    assert kinds == ["Input", "Conv", "Relu", "Output"]
    page.keyboard.press("Escape")
    assert "Ops (2)" in page.locator("#panel").text_content()


def test_the_outline_lists_every_node_for_screen_readers(files, open_view):
    page = open_view(files / "small.onnx")
    page.keyboard.press("o")
    items = page.locator("#tree [role=treeitem]")
    assert [item.split()[0] for item in items.all_inner_texts()] == ["Input", "Conv", "Relu", "Output"]
    items.nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("#panel h2", has_text="Conv").wait_for()
    unnamed = page.locator("button:not([aria-label])").filter(has_not_text="Histogram")
    assert all(text.strip() for text in unnamed.all_text_contents())


def test_two_thousand_nodes_in_a_chain_are_laid_out_without_a_full_stack(open_view, tmp_path):
    save_chain(tmp_path / "chain.onnx", [f"relu_{number}" for number in range(2000)], skips=3)
    page = open_view(tmp_path / "chain.onnx")
    assert len(list_boxes(page)) <= 150
    page.keyboard.press("e")
    page.locator("#wait").wait_for(state="hidden")
    for _ in range(200):
        if len(list_boxes(page)) == 2002:
            break
        page.wait_for_timeout(100)
    assert len(list_boxes(page)) == 2002
    search(page, "relu_1999")
    page.locator("#panel .name", has_text="relu_1999").first.wait_for()
    assert page.said == []


def test_groups_open_and_fold_and_a_search_opens_what_it_finds(open_view, tmp_path):
    save_chain(tmp_path / "net.onnx", [f"layer_{n // 50}/op_{n}" for n in range(500)])
    page = open_view(tmp_path / "net.onnx")
    page.keyboard.press("f")
    page.wait_for_timeout(300)
    assert sum(box < 0 for box in list_boxes(page)) == 10
    search(page, "op_333")
    page.locator("#panel .name", has_text="layer_6/op_333").first.wait_for()
    assert sum(box < 0 for box in list_boxes(page)) == 9


def test_overlays_colour_what_is_beyond_the_slider_and_lead_from_one_to_the_next(files, open_view):
    page = open_view(files / "mnist_dscnn_int8.tflite")
    page.locator("#overlay").select_option(label="MACs")
    page.locator("#threshold").fill("0")
    count = int(page.locator("#beyond").inner_text().split()[0])
    assert count > 2
    names = []
    for _ in range(count):
        page.locator("#next").click()
        page.wait_for_timeout(50)
        names.append(page.locator("#panel .name").first.inner_text())
    assert len(set(names)) == count
    page.locator("#threshold").fill("1000")
    assert page.locator("#beyond").inner_text() == "1 node"
    rings = page.evaluate(
        """() => {
            const { canvas, overlay } = edgewrightView;
            return canvas.scene.boxes.map((box) => overlay.rings(box.box));
        }"""
    )
    assert sum(map(len, rings)) == 1


def test_hostile_names_are_text_and_nothing_runs(open_view, tmp_path):
    save_chain(tmp_path / "bad.onnx", HOSTILE)
    for export in (None, tmp_path / "page.html"):
        page = open_view(tmp_path / "bad.onnx", export=export)
        page.keyboard.press("o")
        for number in list_boxes(page):
            page.evaluate("(box) => edgewrightView.go(box)", number)
        search(page, "script")
        page.wait_for_timeout(200)
        assert page.evaluate("() => window.attacked") is None
        assert page.locator("#panel script, #panel img, #tree svg, #results img, #panel b").count() == 0
        assert "<script>window.attacked=1</script>" in read_panel(page)
        assert page.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_fits_a_phone_and_a_screen(files, open_view, width, scheme):
    page = open_view(files / "small.dlc", width=width, scheme=scheme)
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    search(page, "Conv2d")
    assert page.locator("#panel").is_visible()
    colour = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in colour[4:-1].split(",")) < 200) == (scheme == "dark")
    page.keyboard.press("Escape")


@pytest.mark.parametrize("width", [390, 1400])
def test_two_models_stand_side_by_side_and_follow_each_other(files, open_view, tmp_path, width):
    for export in (None, tmp_path / "page.html"):
        page = open_view(files / "small.onnx", files / "small.dlc", diff=True, export=export, width=width)
        search(page, "Conv")
        page.locator("#panel table.both").wait_for()
        assert "datatype" in page.locator("#panel table.both").inner_text()
        page.wait_for_timeout(200)
        kind = page.evaluate(
            """() => {
                const { canvas } = edgewrightView.second;
                return canvas.prepared.graph.nodes[canvas.look.selected].type;
            }"""
        )
        assert kind == "Conv2d"
        page.keyboard.press("Escape")
        page.locator("#next").click()
        page.locator("#panel h3", has_text="Differences").wait_for()
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert page.said == []


def test_the_node_that_differs_most_from_golden_tensors_is_coloured(files, open_view, tmp_path):
    for name, noise in (("golden", 0.0), ("run", 0.5)):
        (tmp_path / name).mkdir()
        (np.arange(512, dtype=np.float32) + np.float32(noise)).tofile(tmp_path / name / "wide.raw")
        np.arange(512, dtype=np.float32).tofile(tmp_path / name / "result.raw")
    page = open_view(files / "small.onnx", outputs=(tmp_path / "golden", tmp_path / "run"))
    assert page.locator("#overlay option:checked").inner_text() == "SQNR"
    page.locator("#threshold").fill("1000")
    page.locator("#next").click()
    page.locator("#panel h2", has_text="Conv").wait_for()
    assert "dB" in read_panel(page)
    assert page.said == []


def test_a_page_of_another_origin_gets_nothing(files, browser, open_view):
    shown = ew.view(files / "small.onnx", open_browser=False)
    try:
        page = browser.new_page()
        page.goto("about:blank")
        question = "(url) => fetch(url).then((answer) => answer.text(), () => 'refused')"
        found = page.evaluate(question, f"{shown.url}api/models")
        assert found == "refused"
        page.close()
    finally:
        shown.close()


@pytest.fixture
def open_folder(files, browser, tmp_path):
    """The viewer of a folder with a model and samples, as qnn-netron shows it."""
    for name in ("small_net.json", "small.bin", "small.dlc"):
        shutil.copy(files / name, tmp_path)
    data = np.random.default_rng(1).standard_normal((2, 1, 3, 8, 8)).astype(np.float32)
    for number, sample in enumerate(data):
        sample.tofile(tmp_path / f"{number}.raw")
    (tmp_path / "list.txt").write_text("".join(f"{tmp_path / f'{number}.raw'}\n" for number in range(2)))
    with start_viewer(list_folder(tmp_path), open_browser=False, root=tmp_path) as viewer:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.said = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(viewer.url)
        page.wait_for_selector("body[data-ready]", state="attached")
        yield page
        page.close()


def test_a_form_compares_two_inferences_and_marks_nodes(open_folder, tmp_path):
    page = open_folder
    page.keyboard.press("d")
    page.get_by_label("Default Verifier").select_option("SQNR")
    page.get_by_label("Default Verifier").select_option("RtolAtol")
    page.get_by_label("rtolmargin").fill("0")
    page.get_by_label("atolmargin").fill("0")
    page.get_by_label("Save Run Configurations").fill("saved_run.json")
    page.locator("#diff button.main").click()
    page.locator("#title", has_text="diff of").wait_for(timeout=60_000)
    assert {"diff", "saved_run.json"} <= {path.name for path in tmp_path.iterdir()}
    page.locator("#diff-controls input").nth(1).fill("1e9")
    marked = page.locator("#beyond").inner_text()
    assert marked != "0 nodes"
    page.locator("#next").click()
    page.locator("#panel h3", has_text="Diff").wait_for()
    assert "Run 2" in read_panel(page)
    rings = "() => edgewrightView.canvas.look.rings(edgewrightView.canvas.look.selected)"
    assert page.evaluate(rings) == ["#d43d2f"]
    page.locator("#diff-controls input").nth(1).fill("0")
    page.locator("#diff-controls input").nth(0).fill("1e9")
    assert page.locator("#beyond").inner_text() != "0 nodes"
    page.keyboard.press("Tab")
    page.locator("#diff-button").click()
    page.get_by_label("Load Saved Run").fill("saved_run.json")
    page.locator("#diff button", has_text="Load").click()
    page.wait_for_function("() => document.querySelector('#diff datalist') !== null")
    assert page.get_by_label("rtolmargin").input_value() == "0"
    assert page.said == []


def test_a_form_says_what_is_wrong(open_folder):
    page = open_folder
    page.locator("#diff-button").click()
    page.locator("#diff fieldset").first.get_by_label("Target Device").select_option("on-device")
    page.locator("#diff button.main").click()
    page.locator("#diff .problem", has_text="is not reached from here").wait_for()


def test_a_file_is_opened_from_within_the_page(files, open_view):
    page = open_view(files / "small.onnx")
    page.locator("#file").set_input_files(files / "mnist_dscnn_int8.tflite")
    page.locator("#title", has_text="mnist_dscnn_int8.tflite").wait_for()
    page.locator("#model").select_option(label="small.onnx")
    page.locator("#title", has_text="small.onnx").wait_for()
    assert page.said == []


def test_models_chosen_faster_than_they_are_drawn_end_at_the_last(files, open_view, tmp_path):
    save_chain(tmp_path / "long.onnx", [f"layer_{n // 50}/op_{n}" for n in range(400)])
    page = open_view(files / "small.onnx", files / "mnist_dscnn_int8.tflite", tmp_path / "long.onnx")
    # The picture of the long one waits for a frame when the next is chosen.
    page.evaluate("""async () => {
        for (const number of [1, 2, 0, 2, 1, 2, 0, 2]) {
            await edgewrightView.openModel(number);
            edgewrightView.openModel(2 - number);
        }
        for (let turn = 0; turn < 30; turn++) edgewrightView.openModel(turn % 3);
        await edgewrightView.openModel(1);
    }""")
    page.locator("#title", has_text="mnist_dscnn_int8.tflite").wait_for()
    page.wait_for_function("() => edgewrightView.canvas.scene && document.getElementById('wait').hidden")
    assert page.evaluate("() => edgewrightView.canvas.prepared.graph === edgewrightView.document.graphs[0]")
    assert page.evaluate("() => edgewrightView.prepared === edgewrightView.canvas.prepared")
    assert page.said == []


def test_a_saved_page_opens_with_the_groups_and_positions_it_had(open_view, tmp_path):
    save_chain(tmp_path / "net.onnx", [f"layer_{n // 50}/op_{n}" for n in range(500)])
    for export in (None, tmp_path / "first.html"):
        page = open_view(tmp_path / "net.onnx", export=export)
        page.keyboard.press("f")
        page.wait_for_timeout(300)
        search(page, "op_333")
        page.wait_for_timeout(300)
        place = """() => edgewrightView.canvas.scene.boxes.map(
            ({ box, x, y }) => [box, Math.round(x), Math.round(y)])"""
        before = page.evaluate(place)
        with page.expect_download() as download:
            page.locator("#save").click()
        saved = tmp_path / "saved.html"
        download.value.save_as(saved)
        assert page.said == []
        page.goto(saved.as_uri())
        page.wait_for_selector("body[data-ready]", state="attached")
        assert page.evaluate(place) == before
        assert '"stored"' in saved.read_text()


def test_the_values_of_results_are_drawn_where_samples_are_given(files, open_view, tmp_path):
    data = np.random.default_rng(2).standard_normal((3, 1, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "data.npy", data)
    page_file = tmp_path / "page.html"
    words = [
        "view",
        str(files / "small.onnx"),
        "--data",
        str(tmp_path / "data.npy"),
        "--export",
        str(page_file),
    ]
    assert run_edgewright(words) == 0
    page = open_view(files / "small.onnx")
    page.goto(page_file.as_uri())
    page.wait_for_selector("body[data-ready]", state="attached")
    search(page, "Relu")
    page.locator("#panel button", has_text="Values").first.click()
    page.locator("#panel svg").first.wait_for()
    assert "mean, deviation" in read_panel(page)


@pytest.mark.parametrize(
    "suffix", [".onnx", ".tflite", ".pb", ".dlc", ".json", ".bin", ".encodings", ".pt2", ".so"]
)
def test_a_file_that_is_not_what_it_says_is_refused_and_the_page_stays_usable(
    files, open_view, tmp_path, suffix
):
    page = open_view(files / "small.onnx")
    whole = (files / "small.dlc").read_bytes()
    for number, content in enumerate(
        (b"\x00<script>window.attacked=1</script>" * 99, whole[:-400], b"[" * 9999)
    ):
        (tmp_path / f"<img src=x>{number}{suffix}").write_bytes(content)
        page.locator("#file").set_input_files(tmp_path / f"<img src=x>{number}{suffix}")
        page.locator("#problem p").wait_for()
        assert len(page.locator("#problem p").inner_text()) > 10
        page.locator("#problem button").click()
    assert page.evaluate("() => window.attacked") is None
    search(page, "Conv")
    page.locator("#panel h2", has_text="Conv").wait_for()
    assert [text for text in page.said if "status of 422" not in text] == []


def test_everything_that_can_be_used_has_a_name_for_screen_readers(open_folder):
    page, roles = (
        open_folder,
        {"button", "textbox", "combobox", "slider", "spinbutton", "searchbox", "dialog"},
    )
    tree = page.context.new_cdp_session(page)
    for key in ("o", "/", "d", "?"):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
        nodes = tree.send("Accessibility.getFullAXTree")["nodes"]
        used = [node for node in nodes if node.get("role", {}).get("value") in roles and not node["ignored"]]
        assert used
        assert [node for node in used if not node.get("name", {}).get("value")] == []
        page.keyboard.press("Escape")


def test_a_picture_that_is_not_there_yet_is_paper_and_not_black(open_view, files):
    page = open_view(files / "small.onnx")
    drawn = page.evaluate("""() => {
        const { canvas } = edgewrightView;
        canvas.scene = null;
        canvas.resize();
        return [...canvas.context.getImageData(5, 5, 1, 1).data];
    }""")
    assert min(drawn) > 200
