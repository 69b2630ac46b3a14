const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
await sleep(1);
setTimeout(() => {}, 10, 1);
await new Promise<void>((resolve) => setTimeout(resolve, 1));
return "done";
