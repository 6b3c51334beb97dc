// The form of a target shows what belongs to the chosen mode. Without this everything is there, and
// what belongs to another mode is cleared when the form is saved.
"use strict";
(function () {
    const fields = document.getElementById("target-fields");
    if (!fields) {
        return;
    }
    const byDefault = document.getElementById("id_required_default");
    const graders = Array.from(fields.querySelectorAll("[data-grader]"));

    function chosen(name) {
        const input = fields.querySelector("input[name=" + name + "]:checked");
        return input ? input.value : "";
    }

    function showFields() {
        const mode = chosen("mode");
        fields.querySelectorAll("[data-mode]").forEach(function (row) {
            row.hidden = mode !== "" && row.dataset.mode !== mode;
        });
        fields.querySelectorAll("[data-gated]").forEach(function (row) {
            row.hidden = chosen("gate_type") === "none";
        });
    }

    // By default the boxes show what that means; they are not sent then.
    function showRequired() {
        graders.forEach(function (grader) {
            const ticked = grader.querySelector("input[name=graders]").checked;
            const required = grader.querySelector("input[name=required]");
            required.closest(".target-required").hidden = !ticked && !required.checked;
            if (byDefault.checked) {
                required.checked = ticked && "observes" in grader.dataset;
                required.closest(".target-required").hidden = !ticked;
            }
            required.disabled = byDefault.checked;
        });
    }

    const filter = document.getElementById("grader-filter");
    function filterGraders() {
        const wanted = filter.value.trim().toLowerCase();
        let shown = 0;
        graders.forEach(function (grader) {
            grader.hidden = !grader.textContent.toLowerCase().includes(wanted);
            shown += grader.hidden ? 0 : 1;
        });
        fields.querySelectorAll(".target-group").forEach(function (group) {
            group.hidden = !group.querySelector("[data-grader]:not([hidden])");
        });
        const ticked = graders.filter(function (each) { return each.querySelector("input[name=graders]").checked; });
        document.getElementById("grader-count").textContent =
            shown + " of " + graders.length + " shown, " + ticked.length + " ticked";
    }

    fields.addEventListener("change", function (event) {
        if (event.target.name === "graders" && !event.target.checked && !byDefault.checked) {
            event.target.closest("[data-grader]").querySelector("input[name=required]").checked = false;
        }
        showFields();
        showRequired();
        filterGraders();
    });
    if (graders.length > 20) {
        filter.closest("p").hidden = false;
    }
    filter.addEventListener("input", filterGraders);
    filter.addEventListener("keydown", function (event) {
        // Enter in the search would save the form.
        if (event.key === "Enter") {
            event.preventDefault();
        }
    });
    showFields();
    showRequired();
    filterGraders();
})();
