const controller = new AbortController();
setTimeout(() => controller.abort(), 5);
await new Promise((resolve) => controller.signal.addEventListener("abort", () => resolve(0)));
return controller.signal.aborted;
