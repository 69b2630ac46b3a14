import fs from "node:fs/promises";

return await fs.readFile("notes.txt", "utf-8");
