// Stack traces that show a script its own code, and nothing of the harness or of where it lies.

import { Error, apply, defineProperty, errorText, push } from "./primordials.mjs";

/**
 * Every stack from now on has only frames whose file *isShown*. A script may still set
 * `Error.prepareStackTrace`; its function then gets those frames alone.
 */
export function hideHarness(isShown) {
  let own;
  const prepare = (error, sites) => {
    const shown = [];
    for (let i = 0; i < sites.length; i += 1) if (isShown(fileOf(sites[i]))) push(shown, sites[i]);
    if (typeof own === "function") return apply(own, Error, [error, shown]);
    let text = titleOf(error);
    for (let i = 0; i < shown.length; i += 1) text += `\n    at ${shown[i]}`;
    return text;
  };
  defineProperty(Error, "prepareStackTrace", {
    __proto__: null,
    get: () => prepare,
    set: (given) => void (own = given === prepare ? undefined : given),
    enumerable: false,
    configurable: false,
  });
}

function fileOf(site) {
  try {
    return site.getFileName();
  } catch {
    return undefined;
  }
}

function titleOf(error) {
  try {
    return errorText(error);
  } catch {
    return "Error";
  }
}
