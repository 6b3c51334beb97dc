// Small helpers; every page works without them.
"use strict";
(function () {
    // A form that must be sent once only.
    document.addEventListener("submit", function (event) {
        const form = event.target;
        if (!form.matches("form[data-once]")) {
            return;
        }
        if (form.dataset.sent) {
            event.preventDefault();
            return;
        }
        form.dataset.sent = "yes";
        form.querySelectorAll("button[type=submit]").forEach(function (button) {
            button.setAttribute("aria-disabled", "true");
        });
    });
    // Back from the next page: the form is usable again.
    window.addEventListener("pageshow", function () {
        document.querySelectorAll("form[data-once]").forEach(function (form) {
            delete form.dataset.sent;
            form.querySelectorAll("button[type=submit]").forEach(function (button) {
                button.removeAttribute("aria-disabled");
            });
        });
    });

    // A page that is polled says when the server can't be reached, and since when.
    function connection(lost) {
        document.querySelectorAll("[data-connection]").forEach(function (place) {
            place.hidden = !lost;
        });
    }
    document.addEventListener("htmx:sendError", function () { connection(true); });
    document.addEventListener("htmx:responseError", function () { connection(true); });
    document.addEventListener("htmx:afterOnLoad", function () { connection(false); });

    // A part that opens is fetched once; what was fetched stays.
    document.addEventListener("toggle", function (event) {
        const fold = event.target;
        if (fold.matches && fold.matches("details[data-load]") && fold.open && window.htmx) {
            const url = fold.dataset.load;
            delete fold.dataset.load;
            fold.removeAttribute("data-load");
            window.htmx.ajax("GET", url, {target: fold.querySelector("[data-place]"), swap: "innerHTML"});
        }
    }, true);
})();
