// Notes every control that the Tab key has to reach, and how each looks while it is not focused.
() => {
    const look = element => {
        const style = getComputedStyle(element);
        return ["outlineStyle", "outlineWidth", "outlineColor", "boxShadow", "borderColor", "backgroundColor",
            "color", "textDecorationLine"].map(name => style[name]).join(" ");
    };
    const groups = new Set();
    const reachable = element => {
        const visible = element.checkVisibility({visibilityProperty: true});
        if (element.disabled || element.tabIndex < 0 || !visible) {
            return false;
        }
        if (element.type !== "radio" || !element.name) return element.type !== "hidden";
        // A group of radio buttons is one stop: the arrow keys move within it.
        const group = `${element.form?.id} ${element.name}`;
        const checked = document.querySelector(`input[name="${CSS.escape(element.name)}"]:checked`);
        if (groups.has(group) || (checked && checked !== element)) return false;
        groups.add(group);
        return true;
    };
    document.activeElement.blur();
    window.controls = [...document.querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex]"
    )].filter(reachable);
    window.looks = window.controls.map(look);
    window.focused = () => {
        const element = document.activeElement;
        document.getAnimations().forEach(each => each.finish());
        const index = window.controls.indexOf(element);
        return [index, index >= 0 && look(element) !== window.looks[index]];
    };
    return window.controls.map(element => element.outerHTML.slice(0, 120));
}
