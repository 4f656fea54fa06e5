// The form of a comparison: what is run or read, by which verifier, from which threshold on.
import { make } from "./elements.js";

const SIDE = {
  model_json: "Model JSON, DLC or library",
  model_cpp: "Model Cpp",
  model_bin: "Model Bin",
  input_list: "Input List",
  target_device: "Target Device",
  device_id: "Device ID",
  runtime: "Runtime",
  architecture: "Architecture",
  input_data_type: "Input Data Type",
  output_data_type: "Output Data Type",
  profiling_level: "Profiling Level",
  perf_profile: "Perf Profile",
  ndk_path: "NDK Path (without effect)",
  engine_path: "Devices Engine Path (without effect)",
};
const LISTS = { model_json: "models", model_cpp: "models", model_bin: "models", input_list: "lists", golden: "folders", results: "folders", save: "runs", load: "runs" };
const MODEL_ONLY = new Set(["model_json", "model_cpp"]);
const RARE = new Set(["model_cpp", "model_bin", "device_id", "architecture", "input_data_type", "output_data_type", "ndk_path", "engine_path"]);
const PAUSE = 400;

/** Opens the form; show(number) is called with the model that a comparison became. */
export async function openDiffForm(dialog, source, show) {
  const offered = await source.ask("api/form");
  const form = new DiffForm(dialog, source, offered, show);
  form.draw(form.last ?? propose(offered));
  dialog.showModal();
}

/** A run with the first model and the first list of the folder. */
function propose(offered) {
  const model = offered.models.find((name) => name.endsWith("_net.json")) ?? offered.models.find((name) => name.endsWith(".dlc"));
  const side = { ...offered.defaults.one, model_json: model ?? "", input_list: offered.lists[0] ?? "" };
  return { ...offered.defaults, one: side, two: { ...side, runtime: "htp-sim" } };
}

class DiffForm {
  constructor(dialog, source, offered, show) {
    Object.assign(this, { dialog, source, offered, show, last: dialog.lastRun });
  }

  draw(run) {
    this.run = structuredClone(run);
    const status = make("p", { class: "status", role: "status" });
    const close = make("button", { type: "button", onclick: () => this.dialog.close() }, "Close");
    const form = make(
      "form",
      { onsubmit: (event) => (event.preventDefault(), this.start(status)) },
      make("h2", {}, "Diff"),
      make("p", { class: "soft" }, `Paths are inside the folder '${this.offered.folder}', which the viewer was started with.`),
      ...Object.entries(this.offered).filter(([, names]) => Array.isArray(names)).map(([key, names]) => this.makeList(key, names)),
      make(
        "div",
        { class: "fields" },
        this.makeChoice("Choose Use Case", this.run, "use_case", this.offered.useCases, () => this.draw(this.run)),
        this.makeLoader(status),
      ),
      ...this.makeSides(),
      this.makeVerifier(),
      make(
        "div",
        { class: "fields" },
        this.makeText("Working Directory", this.run, "working_dir"),
        (this.save = this.makeText("Save Run Configurations (.json)", { save: this.dialog.savedAs ?? "" }, "save")),
      ),
      make("p", { class: "actions" }, make("button", { class: "main" }, "Run"), close),
      status,
    );
    this.dialog.replaceChildren(form);
  }

  makeSides() {
    const useCase = this.offered.useCases.indexOf(this.run.use_case);
    const folders = [];
    if (useCase > 0) folders.push(this.makeText(useCase === 1 ? "Golden tensors" : "First outputs, or golden tensors", this.run, "golden"));
    if (useCase === 2) folders.push(this.makeText("Outputs that are compared", this.run, "results"));
    const sides = [this.makeSide("Inference One", this.run.one, useCase === 2)];
    if (useCase === 0) sides.push(this.makeSide("Inference Two", this.run.two, false));
    return [folders.length ? make("div", { class: "fields" }, ...folders) : null, make("div", { class: "sides" }, ...sides)];
  }

  makeSide(title, side, isModelOnly) {
    const names = Object.keys(SIDE).filter((name) => !isModelOnly || MODEL_ONLY.has(name));
    const fields = (chosen) =>
      chosen.map((name) =>
        name in this.offered.choices ? this.makeChoice(SIDE[name], side, name, this.offered.choices[name]) : this.makeText(SIDE[name], side, name),
      );
    const rare = names.filter((name) => RARE.has(name));
    return make(
      "fieldset",
      {},
      make("legend", {}, isModelOnly ? "Model that is drawn" : title),
      ...fields(names.filter((name) => !RARE.has(name))),
      make("details", { open: rare.some((name) => side[name] !== this.offered.defaults.one[name]) }, make("summary", {}, "More"), ...fields(rare)),
    );
  }

  makeVerifier() {
    const spot = make("div", { class: "fields" });
    const fill = () => {
      const defaults = this.offered.verifiers[this.run.verifier];
      const kept = Object.entries(defaults).map(([name, value]) => [name, this.run.parameters[name] ?? value]);
      this.run.parameters = Object.fromEntries(kept);
      spot.replaceChildren(
        this.makeChoice("Default Verifier", this.run, "verifier", Object.keys(this.offered.verifiers), fill),
        ...Object.keys(defaults).map((name) => this.makeText(name, this.run.parameters, name)),
        this.makeNumber("Accuracy Threshold", "accuracy_threshold"),
        this.makeNumber("Perf Threshold", "perf_threshold"),
      );
    };
    fill();
    return make("fieldset", {}, make("legend", {}, "Verifier"), spot);
  }

  makeLoader(status) {
    const spot = { load: "" };
    const field = this.makeText("Load Saved Run", spot, "load");
    const load = async () => {
      try {
        this.draw(await this.source.send("run", { name: spot.load }));
      } catch (problem) {
        status.textContent = problem.message;
      }
    };
    field.append(make("button", { type: "button", onclick: load }, "Load"));
    return field;
  }

  makeText(title, values, name) {
    const field = make("input", { type: "text", value: values[name], list: LISTS[name] ? `names-${LISTS[name]}` : null, autocomplete: "off", spellcheck: "false" });
    field.addEventListener("input", () => (values[name] = field.value.trim()));
    const label = make("label", {}, make("span", {}, title), field);
    label.field = field;
    return label;
  }

  makeNumber(title, name) {
    const field = make("input", { type: "number", min: 0, step: "any", value: this.run[name] });
    field.addEventListener("input", () => (this.run[name] = Number(field.value)));
    return make("label", {}, make("span", {}, title), field);
  }

  makeChoice(title, values, name, words, onChange) {
    const select = make("select", {}, ...words.map((word) => make("option", { selected: word === values[name] }, word)));
    select.addEventListener("change", () => {
      values[name] = select.value;
      onChange?.();
    });
    return make("label", {}, make("span", {}, title), select);
  }

  makeList(key, names) {
    return make("datalist", { id: `names-${key}` }, ...names.map((name) => make("option", { value: name })));
  }

  async start(status) {
    const button = this.dialog.querySelector("button.main");
    button.disabled = true;
    this.dialog.lastRun = structuredClone(this.run);
    this.dialog.savedAs = this.save.field.value;
    try {
      const { job } = await this.source.send("diff", { run: this.run, save: this.save.field.value.trim() });
      const model = await this.wait(job, status);
      this.dialog.close();
      await this.show(model);
    } catch (problem) {
      status.classList.add("problem");
      status.textContent = problem.message;
    }
    button.disabled = false;
  }

  /** Waits until a comparison has ended, and tells meanwhile what it does. */
  async wait(number, status) {
    status.classList.remove("problem");
    for (;;) {
      const job = await this.source.ask(`api/jobs/${number}`);
      if (job.problem) throw new Error(job.problem);
      if (!job.isRunning) return job.model;
      status.textContent = job.lines[job.lines.length - 1] || "running …";
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  }
}
