import { image } from "tools";

const pictures = ["wide.png", "tall.png", "square.png"];
const small = [];
for (const [at, input] of pictures.entries()) {
  small.push(await image.fit({ input, width: 64, height: 64, output: `small-${at}.png` }));
}
const sheet = await image.join({ inputs: small, direction: "right", output: "sheet.png" });
const web = await image.convert({ input: sheet, output: "sheet.jpg", quality: 80 });

const sizes = await Promise.all([...pictures, ...small, sheet, web].map((input) => image.getInfo({ input })));
return [...pictures, ...small, sheet, web].map((file, at) => `${file}: ${sizes[at].width}x${sizes[at].height} ${sizes[at].format}`);
